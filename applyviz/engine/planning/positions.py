"""Where a field stands in its file, asked for every leaf of an object: each step is taken once.

Field paths name list entries by their keys, files by their place; a key that the manifest leaves out may be
defaulted, so an entry without it still counts as named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from applyviz.engine.manifests.documents import ManifestDocument, PositionTree
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue, is_same_json


@lru_cache(maxsize=8192)
def _read_named(element: PathElement) -> Any:
    return json.loads(element[2:])


def _find_entry(items: list[JSONValue], wanted: Mapping[str, JSONValue]) -> int | None:
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and all(k not in item or is_same_json(item[k], v) for k, v in wanted.items()):
            return index
    return None


def _index_entries(items: list[JSONValue], keys: tuple[str, ...]) -> dict[tuple[JSONValue, ...], int]:
    entries: dict[tuple[JSONValue, ...], int] = {}
    for index, item in enumerate(items):
        values = tuple(item.get(k) for k in keys) if isinstance(item, dict) else ()
        if values and all(isinstance(v, (str, int, float)) for v in values):
            entries.setdefault(values, index)
    return entries


def _descend(tree: PositionTree, step: str | int) -> PositionTree:
    """The place of a child, or the same place when the file has none for it."""
    children = tree[2]
    if isinstance(children, list):
        return children[step] if isinstance(step, int) and step < len(children) else tree
    return tree if children is None else children.get(step, tree)


class Locator:
    """Finds the position of a field path in the file of one document; of what stands above it, at the nearest."""

    def __init__(self, document: ManifestDocument) -> None:
        self._file = document.positions.file
        self._places: dict[FieldPath, tuple[JSONValue, PositionTree]] = {(): (document.obj, document.positions.tree)}
        # Entries of a list by the values of their keys, so that long lists are walked once.
        self._entries: dict[tuple[FieldPath, tuple[str, ...]], dict[tuple[JSONValue, ...], int]] = {}

    def __call__(self, path: FieldPath) -> SourcePosition:
        """The position of a path."""
        tree = self._find(path)[1]
        return SourcePosition(self._file, tree[0], tree[1])

    def _find(self, path: FieldPath) -> tuple[JSONValue, PositionTree]:
        place = self._places.get(path)
        if place is None:
            place = self._places[path] = self._step(self._find(path[:-1]), path)
        return place

    def _step(self, above: tuple[JSONValue, PositionTree], path: FieldPath) -> tuple[JSONValue, PositionTree]:
        """One step down; where the manifest ends, nothing below it has a value, and the position stays."""
        value, tree = above
        element = path[-1]
        step: str | int | None = None
        if isinstance(value, list):
            step = self._find_index(value, element, path[:-1])
        elif isinstance(value, Mapping) and element[2:] in value:
            step = element[2:]
        if step is None:
            return None, tree
        return value[step], _descend(tree, step)

    def _find_index(self, items: list[JSONValue], element: PathElement, path: FieldPath) -> int | None:
        named = _read_named(element)
        if element.startswith("i:"):
            return int(named) if named < len(items) else None
        if element.startswith("v:"):
            return next((n for n, item in enumerate(items) if is_same_json(item, named)), None)
        keys = tuple(named)
        entries = self._entries.get((path, keys))
        if entries is None:
            entries = self._entries[path, keys] = _index_entries(items, keys)
        known = entries.get(tuple(named.values()))
        return _find_entry(items, named) if known is None else known
