"""Names that the glossary replaced stay gone: an identifier that means many things means nothing.

A template reads attributes by name and shows nothing where there is none, so the words are sought there, too.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.syntax import Syntax
from tests.architecture.tracked import ROOT, files_below, read_module

# Each word with what to say instead.
GONE = {
    "told": "message, reason, recorded, sent or summary",
    "way": "option, resolution or direction",
    "ways": "options, open_fields or channels",
    "look": "style, poll or read",
    "place": "scope, path, index, position, topology or cursor",
    "places": "scopes, paths, indices or positions",
    "standing": "state or approval",
    "said": "text, detail, content or facts",
    "held": "stored, live, leased or pending",
    "settled": "resolved",
    "settlement": "resolution",
}
# Verbs with what to say instead; a helper that writes a sentence describes, one that writes a value formats.
GONE_VERBS = re.compile(r"_*(?P<verb>say|tell|settle)(_|$)")
GONE |= {"say": "describe or format", "tell": "describe, notify or stream", "settle": "resolve or normalize"}
# Class names that may occur more than once, each with its reason.
REPEATED = {"Command": "Django finds a management command by this name", "Meta": "Django", "Media": "Django"}
# Where the nodes of a syntax tree keep names.
_NAMING = {"id", "attr", "arg", "name", "names", "asname", "module", "rest"}
_READ = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_TEXT = re.compile(r"\{%\s*(?:blocktranslate|comment)\b.*?%\}|\"[^\"]*\"|'[^']*'", re.DOTALL)


def find_names(module: Syntax) -> Iterator[tuple[int, str]]:
    """The words that are gone, among all names of a module: of what it defines, imports, reads, passes and captures."""
    for kind, nodes in module.kinds.items():
        for part in _NAMING.intersection(kind._fields):
            for node in nodes:
                held = getattr(node, part)
                for name in (held,) if isinstance(held, str) else held if part == "names" and held else ():
                    yield from _find_gone(getattr(node, "lineno", 0), name)


def _find_gone(line: int, dotted: str | ast.alias) -> Iterator[tuple[int, str]]:
    for name in dotted.split(".") if isinstance(dotted, str) else ():
        verb = GONE_VERBS.match(name)
        if verb or name in GONE:
            yield line, verb["verb"] if verb else name


def find_read(template: str) -> Iterator[str]:
    for tag in _READ.findall(template):
        yield from (name for name in re.findall(r"\w+", _TEXT.sub("", tag)) if name in GONE)


def _say(path: Path, name: str) -> str:
    return f"{path.relative_to(ROOT)}: {name} (say {GONE[name]})"


def test_no_name_is_one_of_the_words_that_are_gone():
    found = [
        _say(path, name) for path in files_below("applyviz", ".py") for _line, name in find_names(read_module(path))
    ]

    assert found == []


def test_no_template_reads_one_of_them():
    found = [
        _say(p, name) for p in files_below("templates", ".html", ".svg", ".txt") for name in find_read(p.read_text())
    ]

    assert found == []


def test_a_planted_name_is_found():
    assert list(find_names(Syntax("def f(way):\n    return 'way'\n"))) == [(1, "way")]
    assert [name for _line, name in find_names(Syntax("_say_why = tell = settled = tellers = 1\n"))] == [
        "say",
        "tell",
        "settled",
    ]
    assert list(find_read('{% include "a.html" with style=row.look %} a way {{ "no place" }}')) == ["look"]


def find_repeated(modules: Iterable[Syntax]) -> list[str]:
    """Return the class names that occur more than once."""
    names = Counter(node.name for module in modules for node in module.find(ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1 and name not in REPEATED)


def test_a_class_name_means_one_thing():
    """Except in migrations, whose classes Django names."""
    files = [*files_below("applyviz", ".py"), *files_below("scripts", ".py")]

    assert find_repeated(read_module(path) for path in files if path.parent.name != "migrations") == []


def test_a_repeated_class_name_is_found():
    assert find_repeated(map(Syntax, ("class A:\n    class Meta: ...\n", "class A: ...\nclass Meta: ..."))) == ["A"]
