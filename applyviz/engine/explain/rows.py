"""Collect the versions of one object leaf by leaf, with the owners and the source line of each leaf.

Paths are those of `schema.walk`: list entries by their keys, atomic values as one leaf, duplicate entries as one. All
versions, both sets of owners and the file are walked together, so that each step is taken once: this is most of the
cost of explaining an object, so the walk uses plain tuples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from applyviz.engine.explain.source import SourceSpot, drop_null_keys
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.owning import OwnerCursor, Owners
from applyviz.engine.schema.topology import ItemError, Topology
from applyviz.engine.schema.walk import MISSING, DuplicateEntries, name_entries

# One value per version, `MISSING` where a version has none; versions are in the order of the columns.
Values: TypeAlias = tuple[JSONValue, JSONValue, JSONValue, JSONValue, JSONValue]
# A leaf: its values in all versions, its owners before and after, and its source position.
Row: TypeAlias = tuple[JSONValue, JSONValue, JSONValue, JSONValue, JSONValue, Owners, Owners, SourcePosition]
AFTER, LIVE, MANIFEST, LAST_APPLIED, MERGED = range(5)

NOWHERE = SourcePosition()
_BLANK: Values = (MISSING,) * 5
_NONE: dict[Any, Any] = {}
_is_flat = frozenset({dict, list}).isdisjoint
_is_maps = frozenset({dict, type(MISSING)}).issuperset


class _At:
    """One node of the walk, with its owners and its source position.

    - `is_below_manifest`: the manifest has a leaf here or above, so that position is shown.
    """

    __slots__ = ("is_below_manifest", "owners", "path", "spot")

    def __init__(self, path: FieldPath, owners: OwnerCursor, spot: SourceSpot, is_below_manifest: bool) -> None:
        self.path = path
        self.owners = owners
        self.spot = spot
        self.is_below_manifest = is_below_manifest

    def enter(self, topology: Topology, element: PathElement) -> _At:
        """Return the node one step down; `place` is the topology of this node."""
        spot = self.spot.enter(topology, element)
        return _At((*self.path, element), self.owners.enter(element), spot, self.is_below_manifest)


class RowReader:
    """Walks all versions once; rows come in the order of the first version that has them.

    - `reordered`: the lists whose common entries have another order after apply than live.
    - `remembered`: empty values of last-applied, which no other version has there.
    """

    def __init__(self) -> None:
        self.rows: dict[FieldPath, Row] = {}
        self.reordered: list[FieldPath] = []
        self.remembered: set[FieldPath] = set()

    def read(self, topology: Topology, versions: Values, owners: OwnerCursor, spot: SourceSpot) -> None:
        """Read objects; `MISSING` stands for an absent one."""
        self._walk(topology, versions, _At((), owners, spot, False), None)

    def _walk(
        self,
        topology: Topology | None,
        values: Sequence[Any],
        at: _At,
        above: _At | None,
        twice: Sequence[Any] = (),
    ) -> None:
        """Walk a node whose versions may have different forms: a leaf in one, a map in another.

        - `twice`: versions in which the node is a leaf because entries of one name are duplicated there.
        """
        is_map = topology is not None and topology.is_map and not topology.is_atomic_map
        if topology is not None and is_map and not twice and _is_maps(map(type, values)) and all(values):
            self._walk_map(topology, [_NONE if v is MISSING else v for v in values], at)  # the fast path
            return
        leaves, maps, lists = list(twice or _BLANK), [_NONE] * 5, [_NONE] * 5
        has_leaf, has_map, has_list = bool(twice), False, False
        named: dict[int, dict[PathElement, Any] | None] = {}  # most versions share their lists
        for column, value in enumerate(values):
            if value is MISSING:
                continue
            kind = type(value)
            if value and is_map and kind is dict:
                maps[column], has_map = value, True
                continue
            if value and kind is list and topology is not None and id(value) not in named:
                named[id(value)] = _name_entries(topology, value, is_merged=column == MERGED)
            entries = named.get(id(value))
            if entries is not None:
                lists[column], has_list = entries, True
                continue
            leaves[column], has_leaf = value, True
        if has_leaf:
            self._add(leaves, at, above, is_mixed=has_map or has_list)
        if topology is not None and has_map:
            self._walk_map(topology, maps, at)
        if topology is not None and has_list:
            self._walk_list(topology, lists, at, values)

    def _add(self, leaves: Sequence[JSONValue], at: _At, above: _At | None, *, is_mixed: bool) -> None:
        """Add a leaf that is not a plain field of a map; `is_mixed`: some versions have fields below it."""
        if is_mixed and _is_remembered(leaves):
            self.remembered.add(at.path)
            return
        at.is_below_manifest = at.is_below_manifest or leaves[MANIFEST] is not MISSING
        position = at.spot.position if at.is_below_manifest else NOWHERE
        before, after = above.owners.of(at.path[-1]) if above is not None else ((), ())
        now, live, manifest, last_applied, merged = leaves
        self.rows[at.path] = (now, live, manifest, last_applied, merged, before, after, position)

    def _walk_map(self, topology: Topology, maps: Sequence[dict[str, JSONValue]], at: _At) -> None:
        after, live, manifest, last_applied, merged = (m.get for m in maps)
        rows, path, spot = self.rows, at.path, at.spot
        owners = at.owners.of
        is_shown = at.is_below_manifest
        for name in _unite(maps):
            wanted = manifest(name, MISSING)
            values = (
                after(name, MISSING),
                live(name, MISSING),
                wanted,
                last_applied(name, MISSING),
                merged(name, MISSING),
            )
            element = "f:" + name
            if _is_flat(map(type, values)):
                rows[(*path, element)] = (
                    *values,
                    *owners(element),
                    spot.locate(name) if wanted is not MISSING or is_shown else NOWHERE,
                )
            else:
                self._walk(topology.child(name), values, at.enter(topology, element), at)

    def _walk_list(
        self,
        topology: Topology,
        lists: Sequence[dict[PathElement, JSONValue]],
        at: _At,
        written: Sequence[JSONValue],
    ) -> None:
        """Walk lists by the names of their entries; `written`: the lists themselves."""
        after, live, manifest, last_applied, merged = (entries.get for entries in lists)
        for element in _unite(lists):
            values: Sequence[JSONValue] = (
                after(element, MISSING),
                live(element, MISSING),
                manifest(element, MISSING),
                last_applied(element, MISSING),
                merged(element, MISSING),
            )
            twice: Sequence[JSONValue] = ()
            if DuplicateEntries in map(type, values):
                twice = [list(v) if type(v) is DuplicateEntries else MISSING for v in values]
                values = [MISSING if type(v) is DuplicateEntries else v for v in values]
            self._walk(topology.item, values, at.enter(topology, element), at, twice)
        in_both = lists[AFTER].keys() & lists[LIVE].keys()
        is_moved = [e for e in lists[LIVE] if e in in_both] != [e for e in lists[AFTER] if e in in_both]
        if is_moved or _is_mixed(topology, written[LIVE], written[AFTER]):
            self.reordered.append(at.path)


def _name_entries(
    topology: Topology, items: list[JSONValue], *, is_merged: bool
) -> dict[PathElement, JSONValue] | None:
    """Return the entries of a list by name, as the server reads them; what a manifest says is kept, with its nulls."""
    plain = [drop_null_keys(topology, item) for item in items]
    entries: dict[PathElement, JSONValue] | None = name_entries(topology, plain)
    if entries is None or is_merged or len(entries) < len(items):
        return entries
    return dict(zip(entries, items, strict=True))


def _is_mixed(topology: Topology, live: JSONValue, after: JSONValue) -> bool:
    """Return whether entries that share their names stand in another order among the others: they are one leaf.

    - Rule: an environment variable may refer to those above it, so that their order counts.
    """
    if not isinstance(live, list) or not isinstance(after, list) or len(live) < 3 or live is after:
        return False
    try:
        before, now = ([topology.name_item(item) for item in items] for items in (live, after))
    except ItemError:  # an entry without a name has no order among those that have one
        return False
    if len(set(before)) == len(before) and len(set(now)) == len(now):
        return False
    old, new = Counter(before), Counter(now)
    same = {name for name, count in old.items() if new[name] == count}
    return [name for name in before if name in same] != [name for name in now if name in same]


def _is_remembered(leaves: Sequence[JSONValue]) -> bool:
    """Return whether only last-applied has this leaf, and it is empty: other versions have fields below it.

    - kubectl records `annotations: {}` for a manifest without annotations; the object never held that leaf.
    """
    others = (leaves[AFTER], leaves[LIVE], leaves[MANIFEST], leaves[MERGED])
    return leaves[LAST_APPLIED] in ({}, []) and all(value is MISSING for value in others)


def _unite(maps: Iterable[dict[Any, JSONValue]]) -> dict[Any, JSONValue]:
    """Return the union of all keys, in the order of the first map that has them; the values are meaningless."""
    first, *others = maps
    keys = dict(first)
    last = first
    for other in others:
        if other is not last and other is not first:
            keys.update(other)
        last = other
    return keys
