"""Check what is written out in an expression: patterns, moments, durations, and the types in a list or a map.

Rule: the validators of `cel/validator.go` of cel-go v0.26.0 that k8s.io/apiserver v0.36.3 uses
(`pkg/cel/environment/base.go`); they follow the types, and look only at expressions whose types are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from applyviz.sandbox.cel.functions import call, pattern_of
from applyviz.sandbox.cel.nodes import Call, ListOf, Literal, MapOf, Node, list_children
from applyviz.sandbox.cel.static_types import DYN, StaticType
from applyviz.sandbox.cel.values import CelError

_CONVERSIONS: Final = ("duration", "timestamp")
_ANY_ENTRIES: Final = "format"
Kinds = Mapping[int, StaticType]


def check_literals(node: Node, kinds: Kinds) -> Iterator[tuple[int, str]]:
    """Yield the positions and problems of literals; a list in an argument of `format` may hold values of any type."""
    left = [(node, False)]
    while left:
        one, is_formatted = left.pop()
        yield from _check_literal(one, kinds, is_formatted=is_formatted)
        is_formatted = is_formatted or (isinstance(one, Call) and one.function == _ANY_ENTRIES)
        left.extend((child, is_formatted) for child in reversed(list_children(one)))


def _check_literal(node: Node, kinds: Kinds, *, is_formatted: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, Call):
        yield from _check_argument(node)
    elif isinstance(node, ListOf) and not is_formatted:
        yield from _compare([(one, is_optional) for one, is_optional in node.entries], kinds, is_list=True)
    elif isinstance(node, MapOf) and not is_formatted:
        yield from _compare([(key, False) for key, _, _ in node.entries], kinds)
        yield from _compare([(value, is_optional) for _, value, is_optional in node.entries], kinds)


def _check_argument(node: Call) -> Iterator[tuple[int, str]]:
    argument = node.arguments[0] if node.arguments else None
    if not isinstance(argument, Literal) or node.function not in (*_CONVERSIONS, "matches"):
        return
    try:
        if node.function in _CONVERSIONS and node.target is None:
            call(node.function, [argument.value], is_member=False)
        elif isinstance(argument.value, str):
            pattern_of(argument.value)
    except CelError:
        yield argument.at, f"invalid {node.function} argument"


def _compare(entries: Sequence[tuple[Node, bool]], kinds: Kinds, *, is_list: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the entries of another type than the first; of a list only the first such."""
    wanted: StaticType | None = None
    for node, is_optional in entries:
        kind = kinds.get(id(node), DYN)
        found = kind.parameters[0] if is_optional and kind.parameters else kind
        if wanted is None:
            wanted = found
        elif wanted != found:
            yield node.at, f"expected type '{wanted}' but found '{found}'"
            if is_list:
                return
