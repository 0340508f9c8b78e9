"""The syntax of modules: read once in a process and walked once, however many searches look at it."""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

_Node = TypeVar("_Node", bound=ast.AST)
# What a field of a node may hold beside nodes. Contexts and operators are nodes in which no name stands.
_NO_NODES = frozenset({type(None), int, str, ast.Load, ast.Store, ast.Del})


def list_children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes in a node, in the order in which they are written, without contexts."""
    found: list[ast.AST] = []
    for value in vars(node).values():
        kind = type(value)
        if kind is list:
            found += [one for one in value if isinstance(one, ast.AST)]
        elif kind not in _NO_NODES and isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes in it in the order of `ast.walk`, in less than half of its time, without contexts."""
    found = [tree]
    for node in found:
        found += list_children(node)
    return found


class Syntax:
    """A module: its tree, and its nodes by their kind."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.nodes = walk(self.tree)
        self.kinds: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in self.nodes:
            self.kinds[type(node)].append(node)

    def find(self, kind: type[_Node]) -> list[_Node]:
        """Return the nodes of exactly this kind in the order of `ast.walk`."""
        return cast("list[_Node]", self.kinds.get(kind, []))

    def list_texts(self) -> list[str]:
        """Return the texts of the module, those in f-strings included."""
        return [node.value for node in self.find(ast.Constant) if isinstance(node.value, str)]


@cache
def read_source(source: str) -> Syntax:
    """Return the syntax of a module.

    Trees stay, and hold no garbage: the search for it would look through all of them again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return Syntax(source)
    finally:
        if was_enabled:
            gc.enable()


def read_module(path: Path) -> Syntax:
    """Return the syntax of the module in a file."""
    return read_source(path.read_text(encoding="utf-8"))
