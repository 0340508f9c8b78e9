"""List the leaves of an object by their field paths, as pages, reasons and owners name them.

Rule: the topology of server-side apply: `k:` for entries of map lists, `v:` for entries of sets, atomic values as one
leaf; empty maps and lists and nulls are leaves. Duplicate entries are one leaf (the list of them); so is a list with an
entry that cannot be named, and a value that does not fit its schema, so that every value of an object is in exactly one
leaf. A kind without a schema has granular maps and atomic lists.
"""

from __future__ import annotations

from typing import Any, Final

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import ItemError, Topology, of_root

MISSING: Final[Any] = object()


class DuplicateEntries(list[JSONValue]):
    """The entries of one list that share a name; together they are one leaf."""


def name_entries(place: Topology, items: list[JSONValue]) -> dict[PathElement, JSONValue] | None:
    """Return the entries of a list by name, `DuplicateEntries` for shared names; None if an entry has none.

    - None for atomic lists too: they are leaves.
    """
    if not place.is_list or place.is_atomic_list:
        return None
    try:
        elements = [place.name_item(item) for item in items]
    except ItemError:
        return None
    entries = dict(zip(elements, items, strict=True))
    if len(entries) < len(items):
        groups: dict[PathElement, list[JSONValue]] = {}
        for element, item in zip(elements, items, strict=True):
            groups.setdefault(element, []).append(item)
        entries = {e: DuplicateEntries(same) if len(same) > 1 else same[0] for e, same in groups.items()}
    return entries


def collect_leaves(
    place: Topology | None, value: JSONValue, path: FieldPath, leaves: dict[FieldPath, JSONValue]
) -> None:
    """Add every leaf at or below a path, in the order of the object."""
    if place is not None and value:
        if isinstance(value, dict) and place.is_map and not place.is_atomic_map:
            for name, entry in value.items():
                if type(entry) is str:
                    leaves[(*path, "f:" + name)] = entry  # the fast path
                else:
                    collect_leaves(place.children[name], entry, (*path, "f:" + name), leaves)
            return
        entries = name_entries(place, value) if isinstance(value, list) else None
        if entries is not None:
            for element, entry in entries.items():
                collect_entry(place, element, entry, (*path, element), leaves)
            return
    leaves[path] = value


def collect_entry(
    place: Topology,
    element: PathElement,
    entry: JSONValue,
    path: FieldPath,
    leaves: dict[FieldPath, JSONValue],
) -> None:
    """Add the leaves of one list entry at `path`; an entry of a set has nothing below it."""
    if type(entry) is DuplicateEntries:
        leaves[path] = list(entry)
    elif element[0] == "v":
        leaves[path] = entry
    else:
        collect_leaves(place.item, entry, path, leaves)


def list_leaves(root: Node | None, obj: JSONValue) -> dict[FieldPath, JSONValue]:
    """Return every leaf of an object with its path, in the order of the object."""
    leaves: dict[FieldPath, JSONValue] = {}
    collect_leaves(of_root(root), obj, (), leaves)
    return leaves


def find_value(root: Node | None, obj: JSONValue, path: FieldPath) -> JSONValue:
    """Return the value at a field path, `MISSING` if the object has none there.

    - A duplicated entry is the list of both.
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
    entries = name_entries(place, value) if place is not None else None
    found = (entries or {}).get(element, MISSING)
    return (place.item if place else None), list(found) if type(found) is DuplicateEntries else found
