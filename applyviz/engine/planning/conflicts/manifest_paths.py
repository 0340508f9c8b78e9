"""Walk field paths in a manifest: each map and list along a path, with the key or index taken in it.

A key that a list entry omits may be defaulted, so an entry without it can still match.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json

# Python distinguishes values of these types as JSON does; True would equal 1.
_is_told_apart = frozenset({str, int}).issuperset


def _is_entry(item: JSONValue, keys: JSONObject) -> bool:
    return isinstance(item, Mapping) and all(k not in item or is_same_json(item[k], v) for k, v in keys.items())


def _find_index(items: list[JSONValue], element: PathElement) -> int | None:
    wanted = element_value(element)
    if element.startswith("i:"):
        return wanted if wanted < len(items) else None
    if element.startswith("v:"):
        return next((n for n, item in enumerate(items) if is_same_json(item, wanted)), None)
    return next((n for n, item in enumerate(items) if _is_entry(item, wanted)), None)


class PlaceFinder:
    """Finds many paths in one value, which must not change meanwhile: each list is indexed once."""

    def __init__(self, value: JSONValue) -> None:
        self._value = value
        self._indices: dict[tuple[int, tuple[str, ...]], dict[tuple[JSONValue, ...], int] | None] = {}

    def list_places(self, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
        """Return each container along a path, with the step taken in it; shorter if the path ends early."""
        places: list[tuple[JSONValue, str | int]] = []
        value = self._value
        for element in path:
            step = self._find_step(value, element)
            if step is None:
                break
            places.append((value, step))
            value = value[step]
        return places

    def _find_step(self, value: JSONValue, element: PathElement) -> str | int | None:
        """Return the key or index of an element in a value, None if there is none."""
        if isinstance(value, dict):
            name = element[2:]
            return name if element.startswith("f:") and name in value else None
        if not isinstance(value, list):
            return None
        return self._find_entry(value, element) if element.startswith("k:") else _find_index(value, element)

    def _find_entry(self, items: list[JSONValue], element: PathElement) -> int | None:
        wanted = element_value(element)
        keys = tuple(wanted)
        known = (id(items), keys)
        if known not in self._indices:
            self._indices[known] = _index_entries(items, keys)
        index = self._indices[known]
        values = tuple(wanted.values())
        if index is None or not _is_told_apart(map(type, values)):
            return _find_index(items, element)
        return index.get(values)


def _index_entries(items: list[JSONValue], keys: tuple[str, ...]) -> dict[tuple[JSONValue, ...], int] | None:
    """Return the first index of each entry by its keys; None if an entry omits a key or has no scalar there."""
    found: dict[tuple[JSONValue, ...], int] = {}
    for position, item in enumerate(items):
        values = tuple(item.get(key) for key in keys) if isinstance(item, dict) else (None,)
        if not _is_told_apart(map(type, values)):
            return None
        found.setdefault(values, position)
    return found


def list_places(value: JSONValue, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
    """Return each container along a path, with the step taken in it; shorter if the path ends early."""
    return PlaceFinder(value).list_places(path)


def remove_place(manifest: JSONObject, path: FieldPath) -> JSONObject:
    """Return the manifest without a field, and without the maps and lists that contained only this field."""
    edited = clone(dict(manifest))
    places = list_places(edited, path)
    if len(places) < len(path):
        return manifest
    for container, step in reversed(places):
        del container[step]
        if container:
            break
    return dict(edited)


def set_place(manifest: JSONObject, path: FieldPath, value: JSONValue) -> JSONObject:
    """Return the manifest with another value for a field that it sets."""
    edited = clone(dict(manifest))
    container, step = list_places(edited, path)[-1]
    container[step] = clone(value)
    return dict(edited)
