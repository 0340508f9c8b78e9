"""The leaves of an object by their field paths, as pages, reasons and owners name them.

Rule: the topology of server-side apply: `k:` for entries of map lists, `v:` for entries of sets, atomic values
as one leaf; empty maps and lists and nulls are leaves. Entries of one name that are there twice are one leaf
(the list of them); a list with an entry that cannot be named, and a value that does not fit its schema, is
one leaf too, so that every value of an object is in exactly one leaf. A kind without a schema has granular
maps and atomic lists.
"""

from __future__ import annotations

from typing import Any, Final

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import ItemError, Topology, of_root

MISSING: Final[Any] = object()


def _group(place: Topology, items: list[JSONValue]) -> dict[PathElement, list[JSONValue]] | None:
    """The entries by their names; None when one has none."""
    groups: dict[PathElement, list[JSONValue]] = {}
    try:
        for item in items:
            groups.setdefault(place.name_item(item), []).append(item)
    except ItemError:
        return None
    return groups


def _collect(place: Topology | None, value: JSONValue, path: FieldPath, leaves: dict[FieldPath, JSONValue]) -> None:
    if place is not None and value:
        if isinstance(value, dict) and place.is_map and not place.is_atomic_map:
            for name, entry in value.items():
                if type(entry) is str:
                    leaves[(*path, "f:" + name)] = entry  # the common case, for speed
                else:
                    _collect(place.children[name], entry, (*path, "f:" + name), leaves)
            return
        if isinstance(value, list) and place.is_list and not place.is_atomic_list:
            groups = _group(place, value)
            if groups is not None:
                _collect_groups(place, groups, path, leaves)
                return
    leaves[path] = value


def _collect_groups(
    place: Topology,
    groups: dict[PathElement, list[JSONValue]],
    path: FieldPath,
    leaves: dict[FieldPath, JSONValue],
) -> None:
    for element, items in groups.items():
        if len(items) > 1:
            leaves[(*path, element)] = items
        elif element[0] == "v":
            leaves[(*path, element)] = items[0]
        else:
            _collect(place.item, items[0], (*path, element), leaves)


def list_leaves(root: Node | None, obj: JSONValue) -> dict[FieldPath, JSONValue]:
    """Every leaf of an object with its path, in the order of the object."""
    leaves: dict[FieldPath, JSONValue] = {}
    _collect(of_root(root), obj, (), leaves)
    return leaves


def find_value(root: Node | None, obj: JSONValue, path: FieldPath) -> JSONValue:
    """The value at a field path, `MISSING` when the object has none there.

    - An entry that is there twice is the list of both.
    """
    place: Topology | None = of_root(root)
    value = obj
    for element in path:
        place, value = _step(place, value, element)
        if value is MISSING:
            return MISSING
    return value


def _step(place: Topology | None, value: JSONValue, element: PathElement) -> tuple[Topology | None, JSONValue]:
    if element[0] == "f":
        name = element[2:]
        if not isinstance(value, dict) or name not in value:
            return None, MISSING
        return (place.child(name) if place is not None and place.is_map else None), value[name]
    if not isinstance(value, list):
        return None, MISSING
    if element[0] == "i":
        position = element_value(element)
        return (place.item if place else None), value[position] if position < len(value) else MISSING
    groups = _group(place, value) if place is not None and not place.is_atomic_list else None
    items = (groups or {}).get(element, [])
    if not items:
        return None, MISSING
    return (place.item if place else None), items[0] if len(items) == 1 else items
