"""Compile a syntax tree to a program: compiled once, run with variables, at a bounded cost.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md#evaluation. `&&`, `||` and the macros over them have
a value as soon as one side decides it, even if the other side is an error. Every step costs; long texts cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from applyviz.sandbox.cel import macros
from applyviz.sandbox.cel.functions import FUNCTIONS, TYPES, call, select
from applyviz.sandbox.cel.nodes import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, list_chain
from applyviz.sandbox.cel.syntax import TOO_DEEP, NotReadableError, parse
from applyviz.sandbox.cel.values import CelError, Entries, NoOverloadError, Optional, UInt, is_equal, is_number

CALL_LIMIT = 200_000
"""Steps of one evaluation; the server counts its own cost up to 1,000,000, mostly of longer texts."""


class CostError(CelError):
    """The evaluation exceeds its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation canceled: actual cost limit exceeded")


class Meter:
    """Counts the cost of one evaluation."""

    __slots__ = ("left",)

    def __init__(self, limit: int = CALL_LIMIT) -> None:
        self.left = limit

    def spend(self, cost: int = 1) -> None:
        """Add cost; raises `CostError` when the limit is exceeded."""
        self.left -= cost
        if self.left < 0:
            raise CostError


Scope = Mapping[str, Any]
Step = Callable[[Scope, Meter], Any]


@lru_cache(maxsize=2048)
def compile_text(text: str) -> Step:
    """Return the program of an expression; raises `NotReadableError` if the text is not one."""
    try:
        return compile_node(parse(text))
    except RecursionError:
        raise NotReadableError(TOO_DEEP) from None


def evaluate(text: str, variables: Scope, meter: Meter | None = None) -> Any:
    """Return the value of an expression; raises `CelError` if it has none."""
    try:
        return compile_text(text)(variables, meter or Meter())
    except RecursionError:
        raise CelError(TOO_DEEP) from None


def compile_node(node: Node) -> Step:
    """Return the program of a tree."""
    made: dict[int, Step] = {}
    for one in reversed(list_chain(node)):
        made[id(one)] = _compile(one, lambda part: made[id(part)] if id(part) in made else compile_node(part))
    return made[id(node)]


Compile = Callable[[Node], Step]


def _compile(node: Node, compile_part: Compile) -> Step:
    match node:
        case Literal(value):
            return lambda scope, meter: value
        case Name(name):
            return _compile_name(name)
        case Select(operand, field, is_optional):
            return _compile_select(compile_part(operand), field, is_optional=is_optional)
        case Index(operand, index, is_optional):
            return _compile_index(compile_part(operand), compile_part(index), is_optional=is_optional)
        case ListOf(entries):
            return _compile_list(entries, compile_part)
        case MapOf(entries):
            return _compile_map(entries, compile_part)
        case Call():
            return _compile_call(node, compile_part)


def _compile_name(name: str) -> Step:
    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend()
        if name in scope:
            value = scope[name]
            return value() if isinstance(value, Lazy) else value
        if name in TYPES:
            return TYPES[name]
        raise CelError(f"undeclared reference to '{name}' (in container '')")

    return run


class Lazy:
    """A variable that is evaluated on first use, and keeps its value or its error."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._kept: tuple[Any, CelError | None] | None = None

    def __call__(self) -> Any:
        if self._kept is None:
            try:
                self._kept = (self._make(), None)
            except CelError as error:
                self._kept = (None, error)
        value, problem = self._kept
        if problem is not None:
            raise problem
        return value


def _qualified(node: Node) -> str:
    """Return `a.b.c` as a name, "" if it is not one: `optional.none`, `cidr.x`."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not node.is_optional and (head := _qualified(node.operand)):
        return f"{head}.{node.field}"
    return ""


def _compile_select(read: Step, field: str, *, is_optional: bool) -> Step:
    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend()
        target = read(scope, meter)
        if is_optional or isinstance(target, Optional):
            return _find_optional(target, field)
        return select(target, field)

    return run


def _find_optional(operand: Any, key: Any) -> Optional:
    if isinstance(operand, Optional):
        if not operand.has_value:
            return operand
        operand = operand.value
    if isinstance(operand, dict):
        found = _find_key(operand, key)
        return Optional(found[0], True) if found else Optional()
    if isinstance(operand, list) and is_number(key) and key == int(key):
        return Optional(operand[int(key)], True) if 0 <= key < len(operand) else Optional()
    raise NoOverloadError


def _find_key(operand: dict[Any, Any], key: Any) -> tuple[Any] | None:
    """Return the value of a key in a tuple; a number matches any equal number, but no bool."""
    if isinstance(key, (list, dict)) or key is None:
        raise NoOverloadError
    if isinstance(key, float) and key == int(key):
        key = int(key)
    if key in operand and (isinstance(key, str) or any(is_equal(k, key) for k in operand)):
        return (operand[key],)
    return None


def _compile_index(read: Step, read_index: Step, *, is_optional: bool) -> Step:
    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend()
        target, key = read(scope, meter), read_index(scope, meter)
        if is_optional or isinstance(target, Optional):
            return _find_optional(target, key)
        if isinstance(target, dict):
            found = _find_key(target, key)
            if found is None:
                raise CelError(f"no such key: {_show_key(key)}")
            return found[0]
        if not isinstance(target, list) or not is_number(key) or key != int(key):
            raise NoOverloadError
        if not 0 <= key < len(target):
            raise CelError(f"index out of bounds: {int(key)}")
        return target[int(key)]

    return run


def _show_key(key: Any) -> str:
    return ("true" if key else "false") if isinstance(key, bool) else str(key)


def _compile_list(entries: tuple[tuple[Node, bool], ...], compile_part: Compile) -> Step:
    steps = [(compile_part(node), is_optional) for node, is_optional in entries]

    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend(1 + len(steps))
        found = []
        for step, is_optional in steps:
            value = step(scope, meter)
            if not is_optional:
                found.append(value)
            elif not isinstance(value, Optional):
                raise NoOverloadError
            elif value.has_value:
                found.append(value.value)
        return found

    return run


def _compile_map(entries: tuple[tuple[Node, Node, bool], ...], compile_part: Compile) -> Step:
    steps = [(compile_part(key), compile_part(value), is_optional) for key, value, is_optional in entries]

    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend(1 + len(steps))
        found: dict[Any, Any] = {}
        for read_key, read_value, is_optional in steps:
            key, value = read_key(scope, meter), read_value(scope, meter)
            if not isinstance(key, (str, int, UInt, bool)):
                raise CelError("unsupported key type")
            if key in found:
                raise CelError(f"Failed with repeated key '{_show_key(key)}'")
            if not is_optional:
                found[key] = value
            elif isinstance(value, Optional) and value.has_value:
                found[key] = value.value
        return found

    return run


def _compile_call(node: Call, compile_part: Compile) -> Step:
    special = _SPECIAL.get(node.function) if node.target is None else None
    if special is not None:
        return special([compile_part(a) for a in node.arguments])
    macro = macros.expand(node, compile_part)
    if macro is not None:
        return macro
    name, target = node.function, node.target
    if target is not None and f"{_qualified(target)}.{name}" in FUNCTIONS:
        name, target = f"{_qualified(target)}.{name}", None
    if name not in FUNCTIONS:
        raise CelError(f"undeclared reference to '{name}' (in container '')")
    steps = [compile_part(a) for a in ((target,) if target is not None else ()) + node.arguments]
    is_member = target is not None

    def run(scope: Scope, meter: Meter) -> Any:
        arguments = []
        for step in steps:  # no comprehension: it would add a frame for each operator of a chain
            arguments.append(step(scope, meter))
        meter.spend(_cost_of(name, arguments))
        return call(name, arguments, is_member=is_member)

    return run


_AT_ONCE: Final = frozenset({"size", "dyn", "type", "optional.of", "hasValue", "value"})
_EACH_WITH_EACH: Final = frozenset({"sets.contains", "sets.intersects", "sets.equivalent", "distinct"})


def _cost_of(name: str, arguments: list[Any]) -> int:
    """Return the maximum cost of a call, from the sizes of texts, lists and maps; set operations multiply sizes."""
    if name in _AT_ONCE:
        return 1
    sizes = [_size(a) for a in arguments]
    is_set = any(isinstance(a, Entries) for a in arguments)
    if name in _EACH_WITH_EACH or (is_set and name in ("==", "!=", "+")):
        return 1 + sizes[0] * sizes[-1]
    return 1 + sum(sizes)


def _size(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return 1 + len(value) // 10
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _compile_logic(steps: list[Step], deciding: bool) -> Step:
    """Compile `||`, which a true side decides, or `&&`, which a false side decides, even if the other is an error."""
    left, right = steps

    def attempt(step: Step, scope: Scope, meter: Meter) -> tuple[Any, CelError | None]:
        try:
            value = step(scope, meter)
        except CostError:
            raise
        except CelError as error:
            return None, error
        return (value, None) if isinstance(value, bool) else (None, NoOverloadError())

    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend()
        first, problem = attempt(left, scope, meter)
        if first is deciding:
            return deciding
        second, other = attempt(right, scope, meter)
        if second is deciding:
            return deciding
        if problem is not None or other is not None:
            raise problem or other or NoOverloadError()
        return not deciding

    return run


def _compile_condition(steps: list[Step]) -> Step:
    test, yes, no = steps

    def run(scope: Scope, meter: Meter) -> Any:
        meter.spend()
        chosen = test(scope, meter)
        if not isinstance(chosen, bool):
            raise NoOverloadError
        return yes(scope, meter) if chosen else no(scope, meter)

    return run


_SPECIAL: Final[Mapping[str, Callable[[list[Step]], Step]]] = {
    "||": lambda steps: _compile_logic(steps, deciding=True),
    "&&": lambda steps: _compile_logic(steps, deciding=False),
    "?:": _compile_condition,
}
