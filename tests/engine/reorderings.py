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
        if _is_reordered([name for name, _ in left], [name for name, _ in right]):
            yield path
        there = dict(right)
        for element, entry in dict(left).items():
            if element in there and isinstance(entry, dict):
                yield from _find_reorderings(place.item, entry, there[element], (*path, element))


def _is_reordered(before: list[PathElement], after: list[PathElement]) -> bool:
    """Return whether names that are on both sides change places; names that share entries count entry by entry."""
    firsts = [[n for n in dict.fromkeys(names) if n in before and n in after] for names in (before, after)]
    same = [[n for n in names if before.count(n) == after.count(n)] for names in (before, after)]
    return firsts[0] != firsts[1] or same[0] != same[1]


def _name_entries(place: Topology, entries: list[JSONValue]) -> list[tuple[PathElement, JSONValue]]:
    """Return entries with their names; a list with an entry that cannot be named is a leaf."""
    try:
        names = [place.name_item(entry) for entry in entries]
    except ItemError:
        return []
    return list(zip(names, entries, strict=True))
