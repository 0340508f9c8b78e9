"""Field paths walked in a manifest: each map and list on the way, with the key or index that is taken in it.

A key that a list entry leaves out may be defaulted, so an entry without it still counts as named.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json

# Values of these types are told apart by Python as JSON does it; True would be taken for 1.
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
    """Finds many paths in one value, which is not changed meanwhile: each list is looked through once."""

    def __init__(self, value: JSONValue) -> None:
        self._value = value
        self._indices: dict[tuple[int, tuple[str, ...]], dict[tuple[JSONValue, ...], int] | None] = {}

    def list_places(self, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
        """Return each container on the way to a path, with the step taken in it; shorter when the way ends."""
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
        """Return the key or index that an element names in a value, None when it names nothing there."""
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
    """The first place of each entry by its keys; None when one leaves a key out, or has one that is no plain value."""
    found: dict[tuple[JSONValue, ...], int] = {}
    for position, item in enumerate(items):
        values = tuple(item.get(key) for key in keys) if isinstance(item, dict) else (None,)
        if not _is_told_apart(map(type, values)):
            return None
        found.setdefault(values, position)
    return found


def list_places(value: JSONValue, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
    """Return each container on the way to a path, with the step taken in it; shorter when the way ends."""
    return PlaceFinder(value).list_places(path)


def remove_place(manifest: JSONObject, path: FieldPath) -> JSONObject:
    """Return the manifest without a field, and without the maps and lists that only held it."""
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
    """Return the manifest with another value for a field that it names."""
    edited = clone(dict(manifest))
    container, step = list_places(edited, path)[-1]
    container[step] = clone(value)
    return dict(edited)
