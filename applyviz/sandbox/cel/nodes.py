"""The tree of an expression, and walks through it that work for expressions of any length.

A chain of operators or calls is as deep as it is long. A walk through a tree starts at the end of its `list_chain`, so
that it does not reach Python's recursion limit before the limit of the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

BINARY_SIGNS: Final = frozenset(("<", "<=", ">", ">=", "==", "!=", "in", "+", "-", "*", "/", "%"))


class Literal(Struct, frozen=True):
    """A literal value; `at` of a node is where the server points at it."""

    value: object
    at: int = 0


class Name(Struct, frozen=True):
    """A variable."""

    name: str
    at: int = 0


class Select(Struct, frozen=True):
    """`operand.field`; `is_optional` for `operand.?field`."""

    operand: Node
    field: str
    is_optional: bool = False
    at: int = 0


class Index(Struct, frozen=True):
    """`operand[index]`; `is_optional` for `operand[?index]`."""

    operand: Node
    index: Node
    is_optional: bool = False
    at: int = 0


class Call(Struct, frozen=True):
    """`function(arguments)`, or `target.function(arguments)`; operators are functions named by their sign."""

    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None
    at: int = 0


class ListOf(Struct, frozen=True):
    """`[a, ?b]`: each entry with whether it is optional."""

    entries: tuple[tuple[Node, bool], ...]
    at: int = 0


class MapOf(Struct, frozen=True):
    """`{a: b, ?c: d}`: each key and value with whether it is optional."""

    entries: tuple[tuple[Node, Node, bool], ...]
    at: int = 0


Node = Literal | Name | Select | Index | Call | ListOf | MapOf


def list_children(node: Node) -> Sequence[Node]:
    """Return the parts of a node; the target of a call comes first."""
    match node:
        case Select(operand):
            return (operand,)
        case Index(operand, index):
            return (operand, index)
        case Call(_, arguments, target):
            return (*((target,) if target is not None else ()), *arguments)
        case ListOf(entries):
            return tuple(one for one, _ in entries)
        case MapOf(pairs):
            return tuple(one for key, value, _ in pairs for one in (key, value))
        case _:
            return ()


def list_chain(node: Node) -> Sequence[Node]:
    """Return a node, the first operand of its operator or the target of its call, the first operand of that, and so on.

    - After a conditional, its last operand follows. All nodes share one scope, and none is a name with dots.
    """
    chain = [node]
    while isinstance(below := _find_below(chain[-1]), Call | Index):
        chain.append(below)
    return chain


def _find_below(node: Node) -> Node | None:
    match node:
        case Select(operand) | Index(operand):
            return operand
        case Call("?:", (_, _, last), None):
            return last
        case Call(function, (first, *_), None) if function in BINARY_SIGNS:
            return first
        case Call():
            return node.target
    return None


def find_depth(node: Node) -> int:
    """Return the depth of an expression as the server counts it: `&&`, `||` and calls of functions add nothing.

    Rule: `Visit` in `parser/parser.go` of cel-go v0.26.0.
    """
    return max(depth for _, depth in _walk(node))


def _walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield all nodes with their depths."""
    left = [(node, 0)]
    while left:
        one, depth = left.pop()
        depth += _is_deeper(one)
        yield one, depth
        left.extend((child, depth) for child in list_children(one))


def _is_deeper(node: Node) -> bool:
    if isinstance(node, Call):
        return node.target is not None or node.function in BINARY_SIGNS or node.function == "?:"
    return isinstance(node, Select | Index)


def names_in(node: Node) -> frozenset[str]:
    """Return the variables that an expression may read, including those of its macros."""
    return frozenset(one.name for one, _ in _walk(node) if isinstance(one, Name))
