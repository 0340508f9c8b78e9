"""The versions of one object side by side, leaf by leaf.

Paths are those of `schema.walk`: list entries by their keys, atomic values as one leaf, entries of one name
that are there twice as one. The versions are walked together, and what is the very same value in several of
them is walked once: this is most of what explaining an object costs, so the walk uses plain tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.topology import ItemError, Topology
from applyviz.engine.schema.walk import MISSING

# A value and the versions (columns of the row) that have it.
Part: TypeAlias = tuple[JSONValue, tuple[int, ...]]
Groups: TypeAlias = dict[PathElement, list[JSONValue]]


class Row(NamedTuple):
    """One leaf in all versions, `MISSING` where a version has none."""

    after: JSONValue
    live: JSONValue
    manifest: JSONValue
    last_applied: JSONValue
    merged: JSONValue


AFTER, LIVE = 0, 1
_DEEP = frozenset({dict, list})
_BLANK = (MISSING,) * len(Row._fields)


class RowReader:
    """Walks versions once; rows come in the order of the first version that has them.

    `reordered` are the lists whose common entries stand in another order live than after.
    """

    def __init__(self) -> None:
        self.rows: dict[FieldPath, Row] = {}
        self.reordered: list[FieldPath] = []

    def read(self, place: Topology, versions: Row) -> None:
        """Read objects, `MISSING` where there is none."""
        self._walk(place, _share(versions), ())

    def _walk(self, place: Topology | None, parts: Sequence[Part], path: FieldPath) -> None:
        leaves: list[Part] = []
        maps: list[Part] = []
        lists: list[tuple[Groups, tuple[int, ...]]] = []
        for part in parts:
            value = part[0]
            kind = type(value)
            if place is None or not value or (kind is not dict and kind is not list):
                leaves.append(part)
            elif kind is dict:
                (maps if place.is_map and not place.is_atomic_map else leaves).append(part)
            else:
                groups = _group(place, value)
                if groups is None:
                    leaves.append(part)
                else:
                    lists.append((groups, part[1]))
        if leaves:
            self._add(path, leaves)
        if place is not None and maps:
            self._walk_maps(place, maps, path)
        if place is not None and lists:
            self._walk_lists(place, lists, path)

    def _add(self, path: FieldPath, leaves: Sequence[Part]) -> None:
        row = list(_BLANK)
        for value, columns in leaves:
            for column in columns:
                row[column] = value
        self.rows[path] = Row._make(row)

    def _walk_maps(self, place: Topology, maps: Sequence[Part], path: FieldPath) -> None:
        if len(maps) == 1:
            value, columns = maps[0]
            for name, entry in value.items():
                if type(entry) in _DEEP:
                    self._walk(place.child(name), ((entry, columns),), (*path, "f:" + name))
                else:
                    self._add((*path, "f:" + name), ((entry, columns),))
            return
        names: dict[str, None] = {}
        for value, _ in maps:
            names.update(dict.fromkeys(value))
        for name in names:
            below: list[Part] = []
            is_deep = False
            for value, columns in maps:
                if name in value:
                    entry = value[name]
                    is_deep = is_deep or type(entry) in _DEEP
                    below.append((entry, columns))
            if is_deep:
                self._walk(place.child(name), _merge(below), (*path, "f:" + name))
            else:
                self._add((*path, "f:" + name), below)

    def _walk_lists(self, place: Topology, lists: list[tuple[Groups, tuple[int, ...]]], path: FieldPath) -> None:
        elements: dict[PathElement, None] = {}
        for groups, _ in lists:
            elements.update(dict.fromkeys(groups))
        for element in elements:
            items: list[Part] = []
            doubles: list[Part] = []
            for groups, columns in lists:
                entries = groups.get(element)
                if entries is None:
                    continue
                if len(entries) == 1 and element[0] != "v":
                    items.append((entries[0], columns))
                else:
                    doubles.append((entries if len(entries) > 1 else entries[0], columns))
            if doubles:
                self._add((*path, element), doubles)
            if items:
                self._walk_entries(place.item, _merge(items), (*path, element), has_leaf=bool(doubles))
        self._compare_order(lists, path)

    def _walk_entries(self, place: Topology, items: Sequence[Part], path: FieldPath, *, has_leaf: bool) -> None:
        """Walk entries; when one is a leaf, it shares its row with those that are there twice."""
        before = self.rows.get(path) if has_leaf else None
        self._walk(place, items, path)
        now = self.rows[path] if before is not None else None
        if before is not None and now is not None and now is not before:
            pairs = zip(before, now, strict=True)
            self.rows[path] = Row._make(b if n is MISSING else n for b, n in pairs)

    def _compare_order(self, lists: list[tuple[Groups, tuple[int, ...]]], path: FieldPath) -> None:
        after = next((g for g, columns in lists if AFTER in columns), None)
        live = next((g for g, columns in lists if LIVE in columns), None)
        if after is None or live is None or after is live:
            return
        if [e for e in live if e in after] != [e for e in after if e in live]:
            self.reordered.append(path)


def _share(versions: Row) -> list[Part]:
    """One part per value; the very same value is one part with several columns."""
    parts: list[Part] = [(value, (column,)) for column, value in enumerate(versions) if value is not MISSING]
    return _merge(parts)


def _merge(parts: list[Part]) -> list[Part]:
    if len(parts) == 1:
        return parts
    merged: list[Part] = []
    for value, columns in parts:
        for position, (known, theirs) in enumerate(merged):
            if known is value:
                merged[position] = (known, theirs + columns)
                break
        else:
            merged.append((value, columns))
    return merged


def _group(place: Topology, items: list[JSONValue]) -> Groups | None:
    """The entries of a list by their names; None for an atomic list, and when an entry cannot be named."""
    if not place.is_list or place.is_atomic_list:
        return None
    groups: Groups = {}
    try:
        for item in items:
            groups.setdefault(place.name_item(item), []).append(item)
    except ItemError:
        return None
    return groups
