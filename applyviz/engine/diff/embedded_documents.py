"""Parse documents embedded in text, such as ConfigMap values, so that they can be compared field by field.

YAML becomes maps, lists and scalars in their original spelling; JSON is printed with one field per line. Text that
cannot be compared this way without losing something (anchors, tags, duplicate keys), or that is too deep or too long,
is compared line by line. Rule: YAML 1.1 as libyaml reads it; a plain scalar keeps its text, whatever its type.
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
# The keys that identify entries where no schema does; the first key that an entry has counts.
_NAMES = (("name",), ("id",), ("key",), ("job_name",), ("alert", "record"), ("uid",), ("title",), ("host",), ("path",))


class _UnreadableError(Exception):
    """The text cannot be compared by its fields."""


class _EventReader:
    """Builds values from libyaml's events: scalars keep their spelling, and nothing is dropped silently."""

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

    def _build(self, event: Any, depth: int) -> Any:
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
    """Return the documents of a multi-line YAML text; None if it is not YAML or cannot be compared by fields.

    - Each document is a map or a list; scalars are text, unquoted scalars are `Plain`.
    """
    first = next((line for line in text.split("\n", 40)[:40] if line.strip() and not line.startswith("#")), "")
    if "\n" not in text.rstrip("\n") or len(text) > LONGEST or not _MAP_OR_LIST.match(first):
        return None
    try:
        documents = _EventReader(text).read()
    except (yaml.YAMLError, _UnreadableError, StopIteration, RecursionError, ValueError):
        return None
    is_whole = all(isinstance(d, Mapping | list) and d for d in documents)
    return tuple(documents) if documents and is_whole else None


def lay_out_json(before: str, after: str) -> tuple[str, str] | None:
    """Print two JSON texts with one field per line; None unless both are JSON and differ in more than layout."""
    if not all(text[:1] in ("{", "[") and len(text) <= LONGEST for text in (before, after)):
        return None
    try:
        values = [json.loads(text) for text in (before, after)]
    except (ValueError, RecursionError):
        return None
    old, new = (json.dumps(v, indent=2, sort_keys=True, ensure_ascii=False) for v in values)
    # Only the layout differs, or printing would hide a difference: compare the texts themselves.
    if old == new or not (is_block(old) and is_block(new)):
        return None
    return old, new


def name_by_guess(
    before: list[JSONValue], after: list[JSONValue]
) -> tuple[list[PathElement], list[PathElement]] | None:
    """Name the entries of two lists without a schema, by a key that identifies each of them.

    - None if there is no such key, or if the common entries have another order: that is a change in itself.
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
