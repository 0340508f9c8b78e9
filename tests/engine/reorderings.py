"""Which lists changed their order, found apart from the engine: what its reasons are compared with."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import ItemError, Topology, of_root


def find_reorderings(before: JSONValue, after: JSONValue, *, root: Node | None = None) -> tuple[FieldPath, ...]:
    """Return the lists whose common entries are in another order; atomic lists are leaves and not among them."""
    if before is None or after is None or before is after:
        return ()
    return tuple(_find_reorderings(of_root(root), before, after, ()))


def _find_reorderings(
    place: Topology | None, before: JSONValue, after: JSONValue, path: FieldPath
) -> Iterator[FieldPath]:
    if place is None or before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        if place.is_map and not place.is_atomic_map:
            for name, value in before.items():
                if name in after and isinstance(value, dict | list):
                    yield from _find_reorderings(place.child(name), value, after[name], (*path, "f:" + name))
    elif isinstance(before, list) and isinstance(after, list) and place.is_list and not place.is_atomic_list:
        left, right = _name_entries(place, before), _name_entries(place, after)
        if [e for e in left if e in right] != [e for e in right if e in left]:
            yield path
        for element, entry in left.items():
            if element in right and isinstance(entry, dict):
                yield from _find_reorderings(place.item, entry, right[element], (*path, element))


def _name_entries(place: Topology, entries: list[JSONValue]) -> dict[PathElement, JSONValue]:
    """Return entries by name; a list with an entry that cannot be named is a leaf."""
    try:
        names = [place.name_item(entry) for entry in entries]
    except ItemError:
        return {}
    return dict(zip(names, entries, strict=True))
