"""Documents embedded in text, as in ConfigMap values: parsed so that they can be compared by field.

YAML becomes maps, lists and scalars as they are written; JSON is laid out with one field a line. What could not be
held against each other without losing something (anchors, tags, keys that stand twice), and what is too deep or too
long, is read as lines. Rule: YAML 1.1 as libyaml reads it; a plain scalar keeps its text, whatever type it gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from applyviz.engine.diff.yaml_text import Plain, is_block
from applyviz.engine.objects import paths
from applyviz.engine.objects.paths import PathElement
from applyviz.engine.objects.values import JSONValue

LONGEST = 400_000
_DEEPEST = 60
_MAP_OR_LIST = re.compile(
    r"(?:---|%YAML|-(?: |$)|[^\s#'\"\[{][^\n]*?:(?:\s|$)|(?:'[^'\n]+'|\"[^\"\n]+\") *:(?:\s|$))", re.MULTILINE
)
_TEXT_TAG = "tag:yaml.org,2002:str"
# What tells entries apart where no schema says it; of several names the first that an entry has.
_NAMES = (("name",), ("id",), ("key",), ("job_name",), ("alert", "record"), ("uid",), ("title",), ("host",), ("path",))


class _UnreadableError(Exception):
    """The text cannot be compared by its fields."""


class _Reader:
    """Builds values from libyaml's events, so that nothing is typed and nothing is lost unseen."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.CLoader))
        self._types: Any = yaml.resolver.Resolver()

    def read(self) -> list[JSONValue]:
        """Return every document of the text."""
        documents = []
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                documents.append(self._build(next(self._events), 0))
        return documents

    def _build(self, event: Any, depth: int) -> JSONValue:
        if depth > _DEEPEST or getattr(event, "anchor", None):
            raise _UnreadableError
        if isinstance(event, ScalarEvent):
            return self._read_scalar(event)
        if getattr(event, "tag", None):
            raise _UnreadableError
        return self._build_map(depth) if isinstance(event, MappingStartEvent) else self._build_list(depth)

    def _build_map(self, depth: int) -> dict[str, JSONValue]:
        found: dict[str, JSONValue] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = self._build(event, depth + 1) if isinstance(event, ScalarEvent) else None
            if not isinstance(key, str) or key in found or key == "<<":
                raise _UnreadableError
            found[key] = self._build(next(self._events), depth + 1)
        return found

    def _build_list(self, depth: int) -> list[JSONValue]:
        found = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            found.append(self._build(event, depth + 1))
        return found

    def _read_scalar(self, event: Any) -> str:
        if event.tag and event.tag != "!":
            raise _UnreadableError
        text = str(event.value)
        if event.style:
            return text
        is_text = self._types.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT_TAG
        return Plain(text, is_text=is_text)


def read_yaml(text: str) -> tuple[JSONValue, ...] | None:
    """Return the documents of a text of several lines that is YAML; None where it is none, or cannot be compared so.

    - Each is a map or a list; scalars are text, a `Plain` where they stand without quotes.
    """
    first = next((line for line in text.split("\n", 40)[:40] if line.strip() and not line.startswith("#")), "")
    if "\n" not in text.rstrip("\n") or len(text) > LONGEST or not _MAP_OR_LIST.match(first):
        return None
    try:
        documents = _Reader(text).read()
    except (yaml.YAMLError, _UnreadableError, StopIteration, RecursionError, ValueError):
        return None
    is_whole = all(isinstance(d, Mapping | list) and d for d in documents)
    return tuple(documents) if documents and is_whole else None


def lay_out_json(before: str, after: str) -> tuple[str, str] | None:
    """Two texts that are JSON and differ in more than their layout, with one field a line; None when they do not."""
    if not all(text[:1] in ("{", "[") and len(text) <= LONGEST for text in (before, after)):
        return None
    try:
        values = [json.loads(text) for text in (before, after)]
    except (ValueError, RecursionError):
        return None
    old, new = (json.dumps(v, indent=2, sort_keys=True, ensure_ascii=False) for v in values)
    # Only the layout differs, or the layout would hide something: the texts themselves are shown.
    if old == new or not (is_block(old) and is_block(new)):
        return None
    return old, new


def name_by_guess(
    before: list[JSONValue], after: list[JSONValue]
) -> tuple[list[PathElement], list[PathElement]] | None:
    """Names for the entries of two lists that no schema describes: by a key that tells all of them apart.

    - None where there is no such key, or where entries that both lists have stand in another order: that is a change.
    """
    for keys in _NAMES:
        old, new = (_name_all(entries, keys) for entries in (before, after))
        if old is None or new is None:
            continue
        left, right = set(old), set(new)
        if [n for n in old if n in right] == [n for n in new if n in left]:
            return old, new
    return None


def _name_entry(entry: JSONValue, keys: tuple[str, ...]) -> PathElement | None:
    if not isinstance(entry, Mapping):
        return None
    key = next((k for k in keys if k in entry), "")
    name = entry.get(key)
    return paths.key({key: str(name)}) if isinstance(name, str) and name else None


def _name_all(entries: list[JSONValue], keys: tuple[str, ...]) -> list[PathElement] | None:
    names = [name for e in entries if (name := _name_entry(e, keys)) is not None]
    return names if len(names) == len(entries) == len(set(names)) else None
