"""Mask the names of fields: those of list entries repeat values, `k:` the keys of an entry and `v:` an entry of a set.

Rule: a name is shown as the value that it repeats. So the names are written as an object that has these fields and
nothing else, which is masked like any object, and are read back from it. Nothing is compared with other values: what is
masked depends on the path, the kind and the text of the name alone. Doubt masks the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from applyviz.engine.objects import paths
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONObject, JSONValue

_Hide: TypeAlias = Callable[[FieldPath], str]
_WHOLE = "."


def write_object(names: JSONValue) -> JSONValue:
    """Return an object with the fields of `fieldsV1` and the values that their names repeat; other values are null."""
    if not isinstance(names, Mapping):
        return None
    fields: dict[str, JSONValue] = {}
    entries: list[JSONValue] = []
    for element, below in names.items():
        if element == _WHOLE:
            continue
        if element.startswith("f:"):
            fields[element[2:]] = write_object(below)
        else:
            entries.append(_write_entry(element, write_object(below)))
    return fields or entries or None  # both at once is no object: then the entries are masked


def _read_name(element: PathElement) -> JSONValue:
    try:
        return paths.element_value(element)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def _write_entry(element: PathElement, below: JSONValue) -> JSONValue:
    if element.startswith("v:"):
        return _read_name(element)
    named = _read_name(element) if element.startswith("k:") else None
    if not isinstance(named, Mapping):
        return below
    return {**(below if isinstance(below, Mapping) else {}), **named}


def mask_names(
    names: JSONObject, shown: JSONValue, hide: _Hide, above: FieldPath = (), *, is_sorted: bool = True
) -> dict[str, JSONValue]:
    """Return `fieldsV1` with the names of a masked object.

    - `shown`: what `write_object` returned, masked; `hide(path)` returns the mask of a name that it does not show.
    - `is_sorted`: masked names are sorted among the others, so that their order does not reveal where one lay.
    """
    found: dict[str, JSONValue] = {}
    position = 0
    for element, below in names.items():
        if element == _WHOLE:
            found[element] = below
            continue
        value: JSONValue = None
        name: PathElement | None = None
        if element.startswith("f:"):
            if isinstance(shown, Mapping) and element[2:] in shown:
                value, name = shown[element[2:]], element
        else:
            if isinstance(shown, list):
                value = shown[position]
                name = _name_entry(element, value)
            position += 1
        path = (*above, element)
        if name is None or name in found:
            name = _hide_name(element, hide(path))
        is_map = isinstance(below, Mapping)
        found[name] = mask_names(below, value, hide, path, is_sorted=is_sorted) if is_map else below
    return dict(sorted(found.items())) if is_sorted and found.keys() != names.keys() else found


def _name_entry(element: PathElement, shown: JSONValue) -> PathElement | None:
    """Return the name of a masked entry; None if it shows none."""
    if element.startswith("i:"):
        return element
    named = _read_name(element)
    if element.startswith("v:"):
        return element if shown == named else paths.value(shown)
    if not isinstance(named, Mapping) or not isinstance(shown, Mapping):
        return None
    keys = {key: shown.get(key) for key in named}
    return element if keys == named else paths.key(keys)


def _hide_name(element: PathElement, mask: str) -> PathElement:
    named = _read_name(element) if element.startswith("k:") else None
    if isinstance(named, Mapping):
        return paths.key(dict.fromkeys(named, mask))
    return f"{element[:2]}{mask}" if element.startswith("f:") else paths.value(mask)
