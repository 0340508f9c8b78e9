"""Find code that nothing uses: vulture over the product, given the names that templates and queries look up.

Vulture compares names; `scripts/dead_names.py` follows them from module to module, `scripts/dead_members.py` seeks who
reads a field, and `scripts/dead_assets.py` who uses parts of templates and static files. Tests do not count as a use.
`[tool.vulture]` in `pyproject.toml` lists the names that a framework calls. The exit status is 1 when anything is
unused.
"""

from __future__ import annotations

import ast
import gc
import keyword
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from django.conf import global_settings
from vulture import Vulture, noqa

from scripts import dead_assets, dead_members, dead_names
from scripts.syntax import Syntax, list_children, read_module

ROOT = Path(__file__).resolve().parent.parent
_TAG = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_MODELS = "applyviz/records/models/"
_SETTINGS = "applyviz/settings.py"


def list_template_names(root: Path) -> Iterator[str]:
    """Yield the names in the tags of all templates: variables, attributes, filters and tags."""
    for path in sorted((root / "templates").rglob("*")):
        for tag in _TAG.finditer(path.read_text()) if path.is_file() else ():
            yield from (name for name in _NAME.findall(tag[1] or tag[2]) if not keyword.iskeyword(name))


def list_columns(root: Path) -> Iterator[str]:
    """Yield the names that queries use: keyword arguments up to `__`, and whole texts that are names."""
    for path in sorted((root / "applyviz").rglob("*.py")):
        if "migrations" not in path.parts:
            module = read_module(path)
            yield from (node.arg.split("__")[0] for node in module.find(ast.keyword) if node.arg)
            yield from (text.split("__")[0] for text in module.list_texts() if text.isidentifier())


def list_dotted_names(path: Path) -> Iterator[str]:
    """Yield the last name of each dotted text: the classes that the settings name."""
    for text in read_module(path).list_texts():
        last = text.rpartition(".")[2] if "." in text else ""
        if last.isidentifier() and not keyword.iskeyword(last):
            yield last


class _Search(Vulture):  # type: ignore[misc]  # the package brings no types
    """Vulture's search, over modules that are parsed already."""

    def generic_visit(self, node: ast.AST) -> None:
        """Visit what can hold a name."""
        for child in list_children(node):
            self.visit(child)

    def add(self, module: Syntax, path: Path) -> None:
        """Look for what a module defines and uses, as `scan` does for a text."""
        self.filename, self.code = path, module.source.splitlines()
        self.noqa_lines = noqa.parse_noqa(self.code)
        self.visit(module.tree)
        self.reachability.reset()


def find_unused(root: Path, settings: dict[str, Any]) -> list[str]:
    """Return one line for each unused name: place, kind and name."""
    # Names to ignore are compared once for what is unused, not for everything that is defined.
    search = _Search(ignore_decorators=settings["ignore_decorators"])
    named = {*list_template_names(root), *list_dotted_names(root / _SETTINGS)}
    search.scan("\n".join(f"_.{name}" for name in sorted(named)), filename="templates")
    for path in dead_names.list_files(root, settings["paths"]):
        search.add(read_module(path), path)
    search.scavenge([])  # what vulture itself knows of the packages that modules import
    columns = set(list_columns(root))
    found = []
    for one in search.get_unused_code():
        place = Path(one.filename).relative_to(root).as_posix()
        is_column = place.startswith(_MODELS) and one.typ == "variable" and one.name in columns
        is_setting = place == _SETTINGS and hasattr(global_settings, one.name)
        is_ignored = any(fnmatchcase(one.name, pattern) for pattern in settings["ignore_names"])
        if not is_column and not is_setting and not is_ignored:
            found.append(f"{place}:{one.first_lineno}: unused {one.typ} {one.name}")
    return found


def find_all(root: Path) -> list[str]:
    """Return one line for each thing of the product that nothing uses."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["vulture"]
    files = dead_names.list_files(root, settings["paths"])
    return [
        *find_unused(root, settings),
        *dead_names.find_unreached(root, files, settings["ignore_decorators"]),
        *dead_members.find_unread(files, root, named=list_template_names(root), ignored=settings["ignore_names"]),
        *dead_assets.find_unused(root),
    ]


def main() -> int:
    """Print what is unused."""
    gc.disable()  # the trees of all modules stay to the end
    found = find_all(ROOT)
    print("\n".join(found) or "Every name is used.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
