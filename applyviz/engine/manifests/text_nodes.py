"""Read one YAML document as nodes of its text: the exact span of each key, value and entry.

Left out on purpose: the meaning of scalars (`yaml_tree` reads that). Nodes serve only to edit text; aliases stay
aliases. JSON is read as YAML flow style.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import yaml
from msgspec import Struct
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.manifests.scalars import HINTS, resolve_plain, write_key


class Shape(StrEnum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAP = "map"
    LIST = "list"
    ALIAS = "alias"


class TextNode(Struct, frozen=True):
    """A part of the text, `text[start:end]`, without what follows it on its line.

    - `pairs` of a map, `items` of a list; `word` is the text of a scalar or the name of an alias.
    - `style` is the quote or block mark of a scalar, "" for a plain one.
    """

    shape: Shape
    start: int
    end: int
    line: int
    column: int
    word: str = ""
    style: str = ""
    anchor: str = ""
    is_flow: bool = False
    pairs: tuple[tuple[TextNode, TextNode], ...] = ()
    items: tuple[TextNode, ...] = ()

    def find_pair(self, name: str) -> int | None:
        """Return the index of the last pair with a key, which is the one that counts."""
        found = [n for n, (key, _value) in enumerate(self.pairs) if key.shape is Shape.SCALAR and key.name == name]
        return found[-1] if found else None

    @property
    def name(self) -> str:
        """Return the JSON name of a key: a plain `on` is `true` there."""
        if self.style or not self.word or self.word[0] not in HINTS:
            return self.word
        try:
            return write_key(resolve_plain(self.word))
        except ValueError:
            return self.word

    @property
    def has_merge(self) -> bool:
        """Return whether a `<<` merge key adds pairs from elsewhere."""
        return any(key.word == "<<" and not key.style for key, _value in self.pairs)


class TextError(Exception):
    """The text cannot be read as one YAML document."""


def _index_of(mark: Any) -> int:
    return int(mark.index)


def _end_of(text: str, start: int, end: int) -> int:
    """Return the end of a scalar without the trailing blanks that block scalars and empty ones include."""
    return start + len(text[start:end].rstrip())


class _Builder:
    def __init__(self, text: str) -> None:
        self._text = text
        # PyYAML's stubs call the marks of events optional; the C parser always sets them.
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.CLoader))

    def read(self) -> TextNode:
        starts = (AliasEvent, ScalarEvent, MappingStartEvent, SequenceStartEvent)
        return self._build(next(event for event in self._events if isinstance(event, starts)))

    def _build(self, event: Any) -> TextNode:
        start, line, column = event.start_mark.index, event.start_mark.line, event.start_mark.column
        if isinstance(event, MappingStartEvent):
            return self._build_map(event, start, line, column)
        if isinstance(event, SequenceStartEvent):
            return self._build_list(event, start, line, column)
        end = _end_of(self._text, start, event.end_mark.index)
        if isinstance(event, AliasEvent):
            return TextNode(Shape.ALIAS, start, end, line, column, word=event.anchor or "")
        style = event.style or ""
        return TextNode(Shape.SCALAR, start, end, line, column, event.value, style, event.anchor or "")

    def _build_map(self, event: Any, start: int, line: int, column: int) -> TextNode:
        pairs = []
        found: Any = next(self._events)
        while not isinstance(found, MappingEndEvent):
            key = self._build(found)
            pairs.append((key, self._build(next(self._events))))
            found = next(self._events)
        end = (
            _index_of(found.end_mark) if event.flow_style else max((max(k.end, v.end) for k, v in pairs), default=start)
        )
        anchor, is_flow = event.anchor or "", bool(event.flow_style)
        return TextNode(Shape.MAP, start, end, line, column, anchor=anchor, is_flow=is_flow, pairs=tuple(pairs))

    def _build_list(self, event: Any, start: int, line: int, column: int) -> TextNode:
        items = []
        found: Any = next(self._events)
        while not isinstance(found, SequenceEndEvent):
            items.append(self._build(found))
            found = next(self._events)
        end = _index_of(found.end_mark) if event.flow_style else max((i.end for i in items), default=start)
        anchor, is_flow = event.anchor or "", bool(event.flow_style)
        return TextNode(Shape.LIST, start, end, line, column, anchor=anchor, is_flow=is_flow, items=tuple(items))


def read_nodes(text: str) -> TextNode:
    """Return the nodes of the first document of a text.

    - Raises `TextError` if there is none, or if it cannot be read.
    """
    try:
        return _Builder(text).read()
    except (yaml.YAMLError, StopIteration, RecursionError) as error:
        raise TextError(str(error)) from None


def list_aliases(node: TextNode) -> Iterator[str]:
    """Yield the names of all aliases in a node."""
    if node.shape is Shape.ALIAS:
        yield node.word
    for key, value in node.pairs:
        yield from list_aliases(key)
        yield from list_aliases(value)
    for item in node.items:
        yield from list_aliases(item)


def walk_path(node: TextNode, path: PlainPath) -> Iterator[tuple[TextNode, int | None]]:
    """Yield each container along a path with the index of the pair or entry taken; None where the path ends."""
    for step in path:
        if node.shape is Shape.MAP and isinstance(step, str):
            index = node.find_pair(step)
        elif node.shape is Shape.LIST and isinstance(step, int) and step < len(node.items):
            index = step
        else:
            index = None
        yield node, index
        if index is None:
            return
        node = node.pairs[index][1] if node.shape is Shape.MAP else node.items[index]
