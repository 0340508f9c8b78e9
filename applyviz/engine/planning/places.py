"""Field paths walked in a manifest: each map and list on the way, with the key or index that is taken in it.

A key that a list entry leaves out may be defaulted, so an entry without it still counts as named.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json


def _is_entry(item: JSONValue, element: PathElement) -> bool:
    wanted = element_value(element)
    if element.startswith("v:"):
        return is_same_json(item, wanted)
    return isinstance(item, Mapping) and all(k not in item or is_same_json(item[k], v) for k, v in wanted.items())


def _find_step(value: JSONValue, element: PathElement) -> str | int | None:
    """The key or index that an element names in a value, None when it names nothing there."""
    if isinstance(value, dict):
        name = element[2:]
        return name if element.startswith("f:") and name in value else None
    if not isinstance(value, list):
        return None
    if element.startswith("i:"):
        index = int(element_value(element))
        return index if index < len(value) else None
    return next((n for n, item in enumerate(value) if _is_entry(item, element)), None)


def list_places(value: JSONValue, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
    """Each container on the way to a path, with the step taken in it; shorter when the way ends."""
    places: list[tuple[JSONValue, str | int]] = []
    for element in path:
        step = _find_step(value, element)
        if step is None:
            break
        places.append((value, step))
        value = value[step]
    return places


def remove_place(manifest: JSONObject, path: FieldPath) -> JSONObject:
    """The manifest without a field, and without the maps and lists that only held it."""
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
    """The manifest with another value for a field that it names."""
    edited = clone(dict(manifest))
    container, step = list_places(edited, path)[-1]
    container[step] = clone(value)
    return dict(edited)
