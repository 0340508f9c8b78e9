"""Find templates, template tags, CSS classes and properties, functions of scripts and attributes that nothing uses.

A template is used when Python or a used template names it, also with a part that is put in (`settings/{name}.html`):
that part must then be a text of the product. A class is used when templates, Python or scripts write it, whole or with
such a part (`is-{{ state }}`). An attribute that begins with `data-` must be read and written; tests may read it, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.syntax import read_source

# Django draws these itself; htmx sets the classes.
_DRAWN_BY_DJANGO = re.compile(r"\d{3}\.html")
_SET_BY_HTMX = "htmx-"
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_QUOTED = re.compile(r'"([^"]*)"|\'([^\']*)\'|`([^`]*)`')
_WORD = re.compile(r"[\w-]+")
_PUT_IN = "\0"
_CLASSES = re.compile(r'\bclass="([^"]*)"')
_ATTRIBUTE = re.compile(r"\s(data-[\w-]+)")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_BLOCK = re.compile(r"\{[^{}]*\}")
_CSS_CLASS = re.compile(r"\.([A-Za-z_][\w-]*)")
_CSS_PROPERTY = re.compile(r"(?<![\w(-])(--[\w-]+)\s*:")
_JS_FUNCTION = re.compile(r"\bfunction\s+(\w+)|\b(?:const|let)\s+(\w+)\s*=")
_TEMPLATE_TAG = re.compile(r"@register\.\w+(?:\([^)]*\))?\s*\ndef (\w+)")


@dataclass(frozen=True, slots=True)
class _Sources:
    """The product's files by path, and what its Python writes: whole texts, and texts with parts put in."""

    python: dict[Path, str]
    templates: dict[Path, str]
    styles: dict[Path, str]
    scripts: dict[Path, str]
    texts: frozenset[str]
    composed: frozenset[str]


def _read(folder: Path, *suffixes: str) -> dict[Path, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in suffixes and "vendor" not in path.parts)
    return {path: path.read_text() for path in files}


def _list_texts(source: str) -> Iterator[str]:
    """Yield the texts of a module; a part of an f-string that is computed becomes `_PUT_IN`."""
    module = read_source(source)
    yield from module.list_texts()
    for node in module.find(ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else _PUT_IN for part in node.values)


def _load(root: Path) -> _Sources:
    python = {path: text for path, text in _read(root / "applyviz", ".py").items() if "migrations" not in path.parts}
    found = {text for source in python.values() for text in _list_texts(source)}
    return _Sources(
        python,
        _read(root / "templates", ".html", ".txt", ".svg"),
        _read(root / "static", ".css"),
        _read(root / "static", ".js"),
        frozenset(text for text in found if _PUT_IN not in text),
        frozenset(text for text in found if _PUT_IN in text),
    )


def _list_quoted(text: str) -> Iterator[str]:
    for found in _QUOTED.findall(text):
        yield from (one for one in found if one)


def _as_pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(re.escape(_PUT_IN), r"([\w-]+)"))


def _find_unused_templates(sources: _Sources, root: Path) -> Iterator[str]:
    names = {path.relative_to(root / "templates").as_posix(): text for path, text in sources.templates.items()}
    patterns = [_as_pattern(text) for text in sources.composed if re.search(r"\.\w{3,4}$", text)]

    def is_drawn(name: str) -> bool:
        matches = (pattern.fullmatch(name) for pattern in patterns)
        return name in sources.texts or any(found and set(found.groups()) <= sources.texts for found in matches)

    waiting = [name for name in names if is_drawn(name) or _DRAWN_BY_DJANGO.fullmatch(name)]
    used = set[str]()
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += [one for tag in _TAG.findall(names[name]) for one in _list_quoted(tag) if one in names]
    yield from (f"templates/{name}: nothing draws this template" for name in sorted(names.keys() - used))


def _find_unused_tags(sources: _Sources, root: Path) -> Iterator[str]:
    tags = [tag for text in sources.templates.values() for tag in _TAG.findall(text)]
    named = {word for tag in tags for word in _WORD.findall(tag)}
    for path, text in sources.python.items():
        for name in _TEMPLATE_TAG.findall(text) if "templatetags" in path.parts else ():
            others = (other for where, other in sources.python.items() if where != path)
            if name not in named and not any(re.search(rf"\b{name}\b", other) for other in others):
                yield f"{path.relative_to(root)}: no template uses {name}"


def _list_written(sources: _Sources) -> Iterator[str]:
    """Yield the words that may become a class or an attribute; a word with a part put in holds `_PUT_IN`."""
    texts = [*sources.texts, *sources.composed]
    for template in sources.templates.values():
        texts += [quoted for tag in _TAG.findall(template) for quoted in _list_quoted(tag)]
        bare = _TAG.sub(lambda tag: _PUT_IN if tag[0].startswith("{{") else " ", template)
        texts += [*_CLASSES.findall(bare), *_ATTRIBUTE.findall(bare)]
    for script in sources.scripts.values():
        texts += [re.sub(r"\$\{[^}]*\}", _PUT_IN, quoted) for quoted in _list_quoted(script)]
    for text in texts:
        yield from re.findall(rf"[\w{_PUT_IN}-]+", text)


def _make_lookup(sources: _Sources) -> Callable[[str], bool]:
    written = set(_list_written(sources))
    patterns = [_as_pattern(word) for word in written if re.match(rf"[\w-]+-{_PUT_IN}", word)]
    quoted = (
        one for template in sources.templates.values() for tag in _TAG.findall(template) for one in _list_quoted(tag)
    )
    values = sources.texts.union(quoted)

    def is_written(name: str) -> bool:
        matches = (pattern.fullmatch(name) for pattern in patterns)
        return name in written or any(found and set(found.groups()) <= values for found in matches)

    return is_written


def _find_unused_styles(sources: _Sources, root: Path) -> Iterator[str]:
    is_written = _make_lookup(sources)
    styles = {path: _CSS_COMMENT.sub("", text) for path, text in sources.styles.items()}
    everything = "\n".join([*styles.values(), *sources.templates.values(), *sources.scripts.values(), *sources.texts])
    for path, text in styles.items():
        selectors = _CSS_BLOCK.sub("{}", text)
        for name in sorted(set(_CSS_CLASS.findall(selectors))):
            if not name.startswith(_SET_BY_HTMX) and not is_written(name):
                yield f"{path.relative_to(root)}: nothing has the class {name}"
        for name in sorted(set(_CSS_PROPERTY.findall(text))):
            if not re.search(rf"{name}(?![\w-])(?!\s*:)", everything):
                yield f"{path.relative_to(root)}: nothing reads {name}"


def _find_unused_functions(sources: _Sources, root: Path) -> Iterator[str]:
    everything = "\n".join(sources.scripts.values())
    for path, text in sources.scripts.items():
        for names in _JS_FUNCTION.findall(text):
            (name,) = filter(None, names)
            is_exported = re.search(rf"\bexport\s.*\b{name}\b", text)
            if len(re.findall(rf"\b{name}\b", everything if is_exported else text)) < 2:
                yield f"{path.relative_to(root)}: nothing calls {name}"


def _as_key(attribute: str) -> str:
    """Return the name of a `data-` attribute in a script's `dataset`."""
    return re.sub(r"-(\w)", lambda match: match[1].upper(), attribute.removeprefix("data-"))


def _find_unused_attributes(sources: _Sources, root: Path, tests: str) -> Iterator[str]:
    readers = "\n".join([*sources.scripts.values(), *sources.styles.values(), *sources.python.values(), tests])
    computed = {one for text in sources.scripts.values() if "dataset[" in text for one in _list_quoted(text)}
    found = {name: path for path, text in sources.templates.items() for name in _ATTRIBUTE.findall(_TAG.sub(" ", text))}
    for name, path in sorted(found.items()):
        is_read = re.search(rf"{name}(?![\w-])", readers) or f"dataset.{_as_key(name)}" in readers
        if not is_read and _as_key(name) not in computed:
            yield f"{path.relative_to(root)}: nothing reads {name}"


def _find_unwritten_attributes(sources: _Sources, root: Path) -> Iterator[str]:
    written = "\n".join([*sources.templates.values(), *sources.python.values()])
    everything = "\n".join(sources.scripts.values())
    for path, text in (sources.scripts | sources.styles).items():
        for name in sorted(set(re.findall(r"\[(data-[\w-]+)", text))):
            is_set = f"dataset.{_as_key(name)}" in everything or f'setAttribute("{name}' in everything
            if not is_set and not re.search(rf"{name}(?![\w-])", written):
                yield f"{path.relative_to(root)}: nothing has {name}"


def _find_unused_files(sources: _Sources, root: Path) -> Iterator[str]:
    named = "\n".join([*sources.templates.values(), *sources.styles.values(), *sources.texts])
    for path in (*sources.styles, *sources.scripts):
        if path.name not in named:
            yield f"{path.relative_to(root)}: no page loads this file"


def find_unused(root: Path) -> list[str]:
    """Return one line for each thing of templates and static files that nothing uses."""
    sources = _load(root)
    tests = "\n".join(_read(root / "tests", ".py").values())
    return [
        *_find_unused_templates(sources, root),
        *_find_unused_tags(sources, root),
        *_find_unused_styles(sources, root),
        *_find_unused_functions(sources, root),
        *_find_unused_attributes(sources, root, tests),
        *_find_unwritten_attributes(sources, root),
        *_find_unused_files(sources, root),
    ]
