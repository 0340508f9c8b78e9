"""Estimate what an expression costs at most, from the greatest sizes of the values that it reads.

Rule: `checker/cost.go` of cel-go v0.26.0 and `pkg/cel/library/cost.go` of k8s.io/apiserver v0.36.3. Left out: the costs
of macros with two variables and of optional values beyond those of their parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from applyviz.sandbox.cel.functions import FUNCTIONS
from applyviz.sandbox.cel.macros import count_names
from applyviz.sandbox.cel.nodes import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, list_chain
from applyviz.sandbox.cel.static_types import DYN, StaticType

MOST: Final = (1 << 64) - 1
"""The greatest cost or size, also used for a value without a limit of its size."""
_TRAVERSAL, _PATTERN, _NAME_PATTERN = 0.1, 0.25, 128
_PAIR = ("left", "right")
# Functions of sets, which compare each entry with each, once or both ways.
_SETS: Final[Mapping[str, int]] = {"contains": 1, "intersects": 1, "equivalent": 2}
_LIST_BASE, _MAP_BASE = 10, 30
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_TEXTS = frozenset({"string", "bytes", "dyn", "!error!"})
_COMPARISONS = frozenset({"<", "<=", ">", ">="})
# The cost of comparing two values of a Kubernetes type; that of URLs also depends on their length.
_URL: Final = "kubernetes.URL"
_MADE: Final[Mapping[str, int]] = {
    "net.IP": 1, "net.CIDR": 1, "kubernetes.Quantity": 1, "kubernetes.Semver": 1, "kubernetes.NamedFormat": 7, _URL: 1,
}  # fmt: skip
# Functions that go through their target once, and those that go through their first argument.
_OVER_TARGET = frozenset({"lowerAscii", "upperAscii", "substring", "trim"})
_OVER_ARGUMENT = frozenset(
    {"url", "jsonpatch.escapeKey", "cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"}
)
_OF_LISTS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
# What a step of each macro costs besides its body, its condition included, and what its start and its result cost.
_MACROS: Final[Mapping[str, tuple[int, int]]] = {
    "all": (3, 1), "exists": (4, 1), "exists_one": (2, 2), "existsOne": (2, 2), "filter": (13, _LIST_BASE + 1),
}  # fmt: skip
_OF_MAP = (12, _LIST_BASE + 1)


class Estimate(Struct, frozen=True):
    """The greatest cost of a part of an expression, the size of its value, and the size of each entry of it.

    - `path`: the variable and the fields through which the value is reached, empty for a computed value.
    """

    cost: int
    size: int | None = None
    entry: int | None = None
    path: tuple[str, ...] = ()

    @property
    def most(self) -> int:
        """The greatest size of the value."""
        return MOST if self.size is None else self.size


def add_costs(*costs: int) -> int:
    """Return a sum, at most `MOST`."""
    return min(sum(costs), MOST)


def multiply_costs(left: int, right: int) -> int:
    """Return a product, at most `MOST`."""
    return min(left * right, MOST)


def _scale(size: int, factor: float) -> int:
    return min(math.ceil(size * factor), MOST)


def estimate_cost(node: Node, kinds: Mapping[int, StaticType], root: StaticType) -> int:
    """Return what an expression costs at most.

    - `kinds`: the types of its nodes; `root`: that of `self`, with the greatest sizes that its schema allows.
    """
    return _CostEstimator(kinds, root).estimate(node, {}).cost


def _find_below(kind: StaticType, step: str) -> StaticType | None:
    if step == "@items":
        return kind.parameters[0] if kind.name == "list" else kind.parameters[1] if kind.name == "map" else None
    if step == "@keys":
        return kind.parameters[0] if kind.name == "map" else None
    return (kind.fields or {}).get(step)


def _is_qualified(node: Call) -> bool:
    return isinstance(node.target, Name) and f"{node.target.name}.{node.function}" in FUNCTIONS


Scope = Mapping[str, Estimate]


class _CostEstimator:
    def __init__(self, kinds: Mapping[int, StaticType], root: StaticType) -> None:
        self._kinds, self._root = kinds, root
        self._known: dict[int, Estimate] = {}

    def _kind(self, node: Node) -> StaticType:
        return self._kinds.get(id(node), DYN)

    def _find_size(self, node: Node, path: tuple[str, ...]) -> int | None:
        """Return the greatest size of a value; as the server does, without looking at the first step of its path."""
        kind: StaticType | None = self._root if path else None
        for step in path[1:]:
            kind = _find_below(kind, step) if kind is not None else None
        if kind is not None and kind.most is not None:
            return kind.most
        return 1 if self._kind(node).name in _SCALARS else None

    def estimate(self, node: Node, scope: Scope) -> Estimate:
        """Return the estimate of one part of the expression."""
        for one in reversed(list_chain(node)):
            if id(one) not in self._known:
                self._known[id(one)] = self._estimate(one, scope)
        return self._known[id(node)]

    def _estimate(self, node: Node, scope: Scope) -> Estimate:
        match node:
            case Literal(value):
                return Estimate(0, len(value) if isinstance(value, str | bytes) else 1)
            case Name(name):
                bound = scope.get(name, Estimate(1, path=(name,)))
                size = self._find_size(node, bound.path)
                return Estimate(1, bound.size if size is None else size, bound.entry, bound.path)
            case Select(operand, field):
                kind, before = self._kind(operand), self.estimate(operand, scope)
                step = 1 if kind.name == "map" or kind.fields is not None else 0
                path = () if node.is_optional else (*before.path, field)
                return Estimate(add_costs(before.cost, step), self._find_size(node, path), None, path)
            case Index(operand, index):
                container, offset = self.estimate(operand, scope), self.estimate(index, scope)
                path = (*container.path, "@items")
                size = container.entry if container.entry is not None else self._find_size(node, path)
                return Estimate(add_costs(container.cost, offset.cost, 1), size, None, path)
            case ListOf(entries):
                parts = [self.estimate(one, scope) for one, _ in entries]
                entry = max((one.most for one in parts), default=0)
                return Estimate(add_costs(_LIST_BASE, *(one.cost for one in parts)), len(parts), entry)
            case MapOf(pairs):
                parts = [self.estimate(one, scope) for key, value, _ in pairs for one in (key, value)]
                entry = max((one.most for one in parts[1::2]), default=0)
                return Estimate(add_costs(_MAP_BASE, *(one.cost for one in parts)), len(pairs), entry)
            case Call():
                return self._estimate_call(node, scope)

    def _estimate_call(self, node: Call, scope: Scope) -> Estimate:
        if node.target is None and node.function == "has":
            tested = node.arguments[0]
            return Estimate(self.estimate(tested.operand, scope).cost if isinstance(tested, Select) else 0, 1)
        names = count_names(node)
        if names and node.target is not None:
            return self._estimate_macro(node, node.target, names, scope)
        parts = [self.estimate(one, scope) for one in node.arguments]
        if node.function == "?:":
            test, yes, no = parts
            entry = None if yes.entry is None or no.entry is None else max(yes.entry, no.entry)
            return Estimate(add_costs(test.cost, max(yes.cost, no.cost)), max(yes.most, no.most), entry)
        target = None
        if node.target is not None and not _is_qualified(node):
            target = self.estimate(node.target, scope)
        before = add_costs(*(one.cost for one in parts), target.cost if target else 0)
        own = self._estimate_operator(node, parts) or self._estimate_function(node, target, parts)
        size = own.size if own.size is not None else self._find_size(node, ())
        return Estimate(add_costs(before, own.cost), size, own.entry)

    def _estimate_macro(self, node: Call, target: Node, names: int, scope: Scope) -> Estimate:
        over = self.estimate(target, scope)
        bound = [one.name for one in node.arguments[:names] if isinstance(one, Name)]
        step_of = "@keys" if self._kind(target).name == "map" else "@items"
        inside = {**scope, **{name: Estimate(1, over.entry, None, (*over.path, step_of)) for name in bound}}
        bodies = [self.estimate(one, inside) for one in node.arguments[names:]]
        own, around = _MACROS.get(node.function, _OF_MAP)
        step = add_costs(own, *(one.cost for one in bodies))
        cost = add_costs(over.cost, around, multiply_costs(over.most, step))
        if node.function in ("all", "exists", "exists_one", "existsOne"):
            return Estimate(cost, 1)
        return Estimate(cost, over.most, over.entry if node.function == "filter" else bodies[-1].most)

    def _estimate_operator(self, node: Call, parts: Sequence[Estimate]) -> Estimate | None:
        """Return what an operator costs besides its sides, None for a function and for one of a fixed cost."""
        name = node.function
        if name in ("&&", "||"):
            return Estimate(0)
        if name == "==" and (made := self._compare_made(node, parts)) is not None:
            return made
        if name in ("==", "!=") or (name in _COMPARISONS and self._has_texts(node)):
            return Estimate(_scale(min(parts[0].most, parts[1].most), _TRAVERSAL))
        if name == "+" and self._kind(node).name in ("string", "bytes", "list", "dyn"):
            return self._join(node, parts)
        if name == "in":
            return Estimate(parts[1].most if self._kind(node.arguments[1]).name != "map" else 1)
        return None

    def _compare_made(self, node: Call, parts: Sequence[Estimate]) -> Estimate | None:
        """Return the cost of comparing two values of a Kubernetes type; None for other types."""
        left, right = map(self._kind, node.arguments)
        if left != right or left.name not in _MADE:
            return None
        return Estimate(_scale(parts[1].size or 1, _TRAVERSAL) if left.name == _URL else _MADE[left.name])

    def _estimate_function(self, node: Call, target: Estimate | None, parts: Sequence[Estimate]) -> Estimate:
        """Return what a function costs besides its arguments, and the size of its result."""
        name = node.function
        if name in _SETS and target is None and len(parts) == len(_PAIR):
            return Estimate(add_costs(1, multiply_costs(multiply_costs(parts[0].most, parts[1].most), _SETS[name])))
        if name in _OVER_ARGUMENT and parts:
            return Estimate(_scale(parts[0].most, _TRAVERSAL), parts[0].most if name == "url" else None)
        if name in ("bytes", "string") and self._kind(node.arguments[0]).name in ("string", "bytes"):
            return self._convert(node, parts[0])
        if target is None:
            return Estimate(1)
        if name in _OF_LISTS:
            return Estimate(self._go_through(node, target))
        if name == "join":
            return self._join_list(node, target, parts)
        made = _MEMBERS.get(name)
        return Estimate(1) if made is None or (not parts and name not in _OVER_TARGET) else made(target, parts)

    def _has_texts(self, node: Call) -> bool:
        return all(self._kind(one).name in _TEXTS for one in node.arguments)

    def _join(self, node: Call, parts: Sequence[Estimate]) -> Estimate:
        size = add_costs(parts[0].most, parts[1].most)
        entries = [one.entry for one in parts if one.entry is not None]
        entry = max(entries) if len(entries) == len(parts) else None
        return Estimate(1 if self._kind(node).name == "list" else _scale(size, _TRAVERSAL), size, entry)

    def _join_list(self, node: Call, target: Estimate, parts: Sequence[Estimate]) -> Estimate:
        longest = self._find_longest(node, target)
        between = multiply_costs(parts[0].most, max(target.most - 1, 0)) if parts else 0
        size = add_costs(multiply_costs(target.most, longest), between)
        return Estimate(_scale(size, _TRAVERSAL), size)

    def _find_longest(self, node: Call, target: Estimate) -> int:
        """Return how long an entry of a list is at most, where a schema says it."""
        size = self._find_size(node, (*target.path, "@items")) if target.path else None
        return MOST if size is None else size

    def _convert(self, node: Call, part: Estimate) -> Estimate:
        source = self._kind(node.arguments[0]).name
        if source == node.function:
            return Estimate(1)
        longest = multiply_costs(part.most, 4) if node.function == "bytes" else part.most
        return Estimate(_scale(part.most, _TRAVERSAL), longest)

    def _go_through(self, node: Call, target: Estimate) -> int:
        container = self._kind(node.target) if node.target is not None else DYN
        if not container.parameters:
            return _scale(target.most, _TRAVERSAL)
        if container.parameters[0].name not in ("string", "bytes"):
            return target.most
        return multiply_costs(target.most, add_costs(1, _scale(self._find_longest(node, target), _TRAVERSAL)))


def _match(target: Estimate, parts: Sequence[Estimate]) -> Estimate:
    text = _scale(add_costs(target.most, 1), _TRAVERSAL)
    return Estimate(multiply_costs(text, _scale(parts[0].most, _PATTERN)), target.size)


def _replace_texts(target: Estimate, parts: Sequence[Estimate]) -> Estimate:
    size = add_costs(multiply_costs(add_costs(target.most, 1), parts[-1].most), target.most)
    return Estimate(_scale(target.most, 2 * _TRAVERSAL), size)


def _find_contained(target: Estimate, parts: Sequence[Estimate]) -> Estimate:
    return Estimate(multiply_costs(_scale(target.most, _TRAVERSAL), _scale(parts[0].most, _TRAVERSAL)))


_MEMBERS: Final[Mapping[str, Callable[[Estimate, Sequence[Estimate]], Estimate]]] = {
    "startsWith": lambda target, parts: Estimate(_scale(parts[0].most, _TRAVERSAL)),
    "endsWith": lambda target, parts: Estimate(_scale(parts[0].most, _TRAVERSAL)),
    "contains": _find_contained,
    "matches": _match,
    "validate": lambda target, parts: Estimate(_scale(_scale(parts[0].most, _TRAVERSAL), _NAME_PATTERN * _PATTERN)),
    "find": _match,
    "findAll": _match,
    "replace": _replace_texts,
    "split": lambda target, parts: Estimate(_scale(target.most, 2 * _TRAVERSAL), target.most),
    **dict.fromkeys(_OVER_TARGET, lambda target, parts: Estimate(_scale(target.most, _TRAVERSAL), target.most)),
}
