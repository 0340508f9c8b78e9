"""Find fields and methods of classes that nothing reads: no attribute, template or text of the product has their name.

To vulture, a keyword argument and a local variable of the same name use a field; here only a read does. Classes that
inherit from other libraries, models and enums are left out: a framework or data reads their members.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from scripts.syntax import Syntax, read_module

_MODELS = "applyviz/records/models/"
_WORD = re.compile(r"[A-Za-z_]\w*")


def _list_read(module: Syntax) -> Iterator[str]:
    """Yield the names that code reads of objects: attributes, keywords of patterns, and texts without a space."""
    yield from (node.attr for node in module.find(ast.Attribute))
    for pattern in module.find(ast.MatchClass):
        yield from pattern.kwd_attrs
    for text in module.list_texts():
        if " " not in text:
            yield from _WORD.findall(text)


def _list_members(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.lineno, statement.name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.lineno, statement.target.id


def find_unread(files: Iterable[Path], root: Path, *, named: Iterable[str], ignored: Iterable[str]) -> list[str]:
    """Return one line for each member that nothing reads: path, line, class and name.

    - `named`: the names that templates read; `ignored`: patterns of names that are read by other means.
    """
    modules = {path.relative_to(root).as_posix(): read_module(path) for path in files}
    read = {name for module in modules.values() for name in _list_read(module)}.union(named)
    ours = {node.name for module in modules.values() for node in module.find(ast.ClassDef)}
    found = []
    for path, module in modules.items():
        for node in module.find(ast.ClassDef) if not path.startswith(_MODELS) else ():
            is_ours = all(isinstance(base, ast.Name) and base.id in ours for base in node.bases)
            for line, name in _list_members(node) if is_ours else ():
                is_known = name in read or name.startswith("__") or any(fnmatch(name, one) for one in ignored)
                if not is_known:
                    found.append(f"{path}:{line}: nothing reads {node.name}.{name}")
    return found
