#!/usr/bin/env python3
"""Write docs/words.md: every sentence that a page, an error, an email or the API can show, grouped by its file.

The sentences come from the templates (`translate`, `blocktranslate`), from calls of gettext in the code, and from the
engine's catalogues of sentences. `tests/architecture/test_words.py` compares the file with the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "words.md"
HEAD = """# Words: every sentence that applyviz can show

`python scripts/words.py` writes this file. Read it from top to bottom to check the language of the product.
Placeholders such as `{{ name }}`, `%(name)s` and `{name}` are filled in when the sentence is shown.
"""
_TRANSLATE = re.compile(r"""\{%\s*translate\s+(?:"([^"]*)"|'([^']*)')""")
_BLOCK = re.compile(r"\{%\s*blocktranslate\b[^%]*%\}(.*?)\{%\s*endblocktranslate\s*%\}", re.DOTALL)
_PLURAL = re.compile(r"\{%\s*plural\s*%\}")
_GETTEXT = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
_CALL = re.compile(rf"\b(?:{'|'.join(sorted(_GETTEXT))})\s*\(")
_CATALOGUES = {"sentences.py", "server_sentences.py"}
_RISKS = ROOT / "applyviz" / "engine" / "risks"  # a risk has its title and its sentences in the module of its rule


def find_in_template(text: str) -> Iterator[str]:
    """Yield the sentences of a template in the order in which they appear."""
    found = [(m.start(), m[1] or m[2]) for m in _TRANSLATE.finditer(text)]
    for match in _BLOCK.finditer(text):
        found += [(match.start(), " ".join(part.split())) for part in _PLURAL.split(match[1])]
    yield from (sentence for _, sentence in sorted(found, key=lambda one: one[0]))


def _is_gettext(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _GETTEXT


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def find_in_module(text: str, *, is_catalogue: bool = False) -> Iterator[str]:
    """Yield the sentences of a module: arguments of gettext, or all texts of a catalogue that have several words."""
    if not is_catalogue and not _CALL.search(text):
        return  # most modules have no sentence, and reading the syntax of all takes seconds
    nodes = list(ast.walk(ast.parse(text)))
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = []
    for node in nodes:
        if _is_gettext(node):
            found += [arg for arg in getattr(node, "args", ()) if _is_text(arg)]
        elif (
            is_catalogue
            and _is_text(node)
            and id(node) not in documentation
            and " " in str(getattr(node, "value", "")).strip()
        ):
            found.append(node)
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    yield from dict.fromkeys(str(node.value) for node in found)


def _list_sections() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield path.relative_to(ROOT).as_posix(), list(find_in_template(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "applyviz").rglob("*.py")):
        if "migrations" not in path.parts:
            text = path.read_text(encoding="utf-8")
            is_catalogue = path.name in _CATALOGUES or _RISKS in path.parents
            yield path.relative_to(ROOT).as_posix(), list(find_in_module(text, is_catalogue=is_catalogue))


def render() -> str:
    """Return the text of docs/words.md."""
    parts = [HEAD]
    for name, sentences in _list_sections():
        lines = [f"- {sentence.strip()}" for sentence in dict.fromkeys(sentences) if sentence.strip()]
        if lines:
            parts.append("\n".join([f"## {name}", "", *lines]) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Write the file."""
    DOCUMENT.write_text(render(), encoding="utf-8")
    print(f"{DOCUMENT.relative_to(ROOT)}: {render().count(chr(10) + '- ')} sentences")


if __name__ == "__main__":
    main()
