"""Print the size of the product: python -m scripts.figures.

Lines, modules, classes and templates are those a reader has to get through; tests, migrations and data do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.dead_code import ROOT, find_all


def list_sources(root: Path) -> list[str]:
    """Return the text of each module of the product."""
    return [path.read_text() for path in sorted((root / "applyviz").rglob("*.py")) if "migrations" not in path.parts]


def list_template_lines(root: Path) -> list[str]:
    """Return the lines of all templates."""
    files = (path for path in sorted((root / "templates").rglob("*")) if path.is_file())
    return [line for path in files for line in path.read_text().splitlines()]


def list_classes(sources: list[str]) -> Iterator[ast.ClassDef]:
    """Yield the classes of modules."""
    for source in sources:
        yield from (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def is_record(node: ast.ClassDef) -> bool:
    """Return whether a class is a struct or a dataclass."""
    is_frozen = any(keyword.arg == "frozen" for keyword in node.keywords)
    return is_frozen or any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def measure(root: Path) -> dict[str, int]:
    """Return the figures by name."""
    sources, lines = list_sources(root), list_template_lines(root)
    classes = list(list_classes(sources))
    return {
        "lines of Python": sum(len(source.splitlines()) for source in sources),
        "modules": len(sources),
        "classes": len(classes),
        "records": sum(map(is_record, classes)),
        "lines of templates": len(lines),
        "longest line of a template": max(map(len, lines), default=0),
        "unused names and parts": len(find_all(root)),
    }


if __name__ == "__main__":
    for name, figure in measure(ROOT).items():
        print(f"{figure:>8,}  {name}")
