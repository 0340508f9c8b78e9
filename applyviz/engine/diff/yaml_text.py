"""Print objects as lines of YAML for people: a fixed order of keys, and the field path of every line.

Order: apiVersion, kind, metadata, then alphabetical, status last; in metadata and in list entries the name comes first.
Text that YAML would retype is quoted, invisible and bidirectional characters are escaped, and multi-line text is a
literal block. The lines are only for reading; nothing parses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.topology import ItemError, Topology

_FIRST = {"apiVersion": 0, "kind": 1, "metadata": 2, "name": 3, "namespace": 4, "status": 9}
_PLAIN = re.compile(r"[A-Za-z_./\u27ea][^\x00-\x1f\x7f:#]*(?:(?::(?! |$)|(?<! )#)[^\x00-\x1f\x7f:#]*)*")
_RETYPED = re.compile(r"(?i)(y|n|yes|no|on|off|true|false|null|\.inf|\.nan|\.[0-9].*)")


class Plain(str):
    """A scalar that YAML writes without quotes; `is_text` if quotes would not change its meaning."""

    __slots__ = ("is_text",)
    is_text: bool

    def __new__(cls, text: str, *, is_text: bool) -> Plain:
        made = super().__new__(cls, text)
        made.is_text = is_text
        return made


class YAMLLine(NamedTuple):
    """One line: its depth in steps of two blanks, its text, and the field that it shows.

    `is_entry`: it begins a list entry, so its text begins with `- `. `meaning` is its canonical spelling, "" if that is
    the text itself: lines of equal meaning are equal. `inside`: the text below it is printed as `json` or `yaml`, or
    with `escapes` for invisible characters. `more` lines of its value follow that are not there, equal on both sides.
    """

    path: FieldPath
    depth: int
    text: str
    is_entry: bool = False
    meaning: str = ""
    inside: str = ""
    more: int = 0

    def __str__(self) -> str:
        return "  " * self.depth + self.text


def sort_names(names: JSONObject | set[str]) -> list[str]:
    """Return the names of a map in the order of the pages."""
    return sorted(names, key=lambda n: (_FIRST.get(n, 5), n))


def _escape(text: str) -> str:
    """Return JSON text without invisible characters."""
    written = json.dumps(text, ensure_ascii=False)
    if written.isprintable():
        return written
    return "".join(
        c if c.isprintable() else f"\\U{ord(c):08x}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in written
    )


def write_scalar(value: JSONValue) -> str:
    """Return one scalar, or an empty map or list, as YAML."""
    if isinstance(value, Plain):
        return str(value) if value.isprintable() else _escape(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    is_plain = _PLAIN.fullmatch(value) and value.isprintable() and value == value.strip()
    return value if is_plain and not _RETYPED.fullmatch(value) else _escape(value)


def is_block(value: JSONValue) -> bool:
    """Return whether text can be a literal block: it has several lines, and the block would hide nothing."""
    if not isinstance(value, str) or "\n" not in value.rstrip("\n"):
        return False
    lines = value.split("\n")
    if lines[0][:1] in ("", " ", "\t"):
        return False
    return all(line.replace("\t", "").isprintable() and line[-1:] not in (" ", "\t") for line in lines)


def name_entries(topology: Topology | None, entries: list[JSONValue]) -> list[PathElement]:
    """Return the path elements of list entries: by key if the list merges by key, else by position."""
    if topology is not None and topology.is_list and not topology.is_atomic_list:
        try:
            names = [topology.name_item(e) for e in entries]
        except ItemError:
            names = []
        if names and len(set(names)) == len(names):
            return names
    return [f"i:{n}" for n in range(len(entries))]


def below(topology: Topology | None, element: PathElement) -> Topology | None:
    """Return the topology of a field or an entry."""
    if topology is None:
        return None
    if element[0] == "f":
        return topology.child(element[2:]) if topology.is_map else None
    return topology.item if topology.is_list else None


def render_lines(
    topology: Topology | None, value: JSONValue, path: FieldPath = (), depth: int = 0
) -> Iterator[YAMLLine]:
    """Yield the lines of a map or list, without the line of its name."""
    if isinstance(value, Mapping):
        for name in sort_names(value):
            element = "f:" + name
            yield from render_field(below(topology, element), name, value[name], (*path, element), depth)
    elif isinstance(value, list):
        for element, entry in zip(name_entries(topology, value), value, strict=True):
            yield from render_entry(below(topology, element), entry, (*path, element), depth)


def render_field(topology: Topology | None, name: str, value: Any, path: FieldPath, depth: int) -> Iterator[YAMLLine]:
    """Yield the lines of a field: its name and its value."""
    label = write_scalar(name)
    if is_block(value):
        yield YAMLLine(path, depth, f"{label}: {block_mark(value)}")
        for text in value.rstrip("\n").split("\n"):
            yield YAMLLine(path, depth + 1, text)
    elif isinstance(value, Mapping | list) and value:
        yield YAMLLine(path, depth, f"{label}:")
        # A list has the indentation of its name, as Kubernetes prints it.
        yield from render_lines(topology, value, path, depth if isinstance(value, list) else depth + 1)
    else:
        yield YAMLLine(path, depth, f"{label}: {write_scalar(value)}", meaning=_mean(f"{label}: ", value))


def _mean(before: str, value: JSONValue) -> str:
    """Return the canonical spelling of a line whose scalar has several spellings."""
    return before + write_scalar(str(value)) if isinstance(value, Plain) and value.is_text else ""


def count_lines(value: JSONValue) -> int:
    """Return how many lines a map or list has, without the line of its name; 0 for an empty one and for a scalar."""
    if isinstance(value, Mapping):
        return sum(1 + (count_lines(below) or _count_block(below)) for below in value.values())
    if isinstance(value, list):
        return sum(count_lines(entry) or 1 for entry in value)
    return 0


def _count_block(value: JSONValue) -> int:
    return value.rstrip("\n").count("\n") + 1 if isinstance(value, str) and is_block(value) else 0


def block_mark(text: str) -> str:
    """Return the header of a literal block, which says how the block ends."""
    if not text.endswith("\n"):
        return "|-"
    return "|+" if text.endswith("\n\n") else "|"


def render_entry(topology: Topology | None, value: JSONValue, path: FieldPath, depth: int) -> Iterator[YAMLLine]:
    """Return the lines of a list entry: the first begins with a dash, the others are indented below it."""
    if not (isinstance(value, Mapping | list) and value):
        text = write_scalar(value)
        yield YAMLLine(path, depth, f"- {text}", is_entry=True, meaning=_mean("- ", value))
        return
    for position, line in enumerate(render_lines(topology, value, path, depth + 1)):
        if position == 0:
            yield dash(line, depth)
        else:
            yield line


def dash(line: YAMLLine, depth: int) -> YAMLLine:
    """Return the line as the first line of a list entry."""
    meaning = f"- {line.meaning}" if line.meaning else ""
    return line._replace(depth=depth, text=f"- {line.text}", is_entry=True, meaning=meaning)


def show_escapes(text: str) -> str:
    """Return one line of text without invisible characters or trailing blanks."""
    kept = text.rstrip(" ")
    shown = kept if kept.isprintable() else "".join(c if c.isprintable() else _escape(c)[1:-1] for c in kept)
    return shown + "\\x20" * (len(text) - len(kept))


def render_yaml(topology: Topology | None, value: JSONValue) -> str:
    """Return an object as YAML text."""
    return "".join(f"{line}\n" for line in render_lines(topology, value))
