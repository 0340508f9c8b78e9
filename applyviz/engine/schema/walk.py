"""List the leaves of an object by their field paths, as pages, reasons and owners name them.

Rule: the topology of server-side apply: `k:` for entries of map lists, `v:` for entries of sets, atomic values as one
leaf; empty maps and lists and nulls are leaves. Duplicate entries are one leaf (the list of them); so is a list with an
entry that cannot be named, and a value that does not fit its schema, so that every value of an object is in exactly one
leaf. A kind without a schema has granular maps and atomic lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import ItemError, Topology, of_root

MISSING: Final[Any] = object()
_NameEntries = Callable[[Topology, list[Any]], dict[PathElement, Any] | None]


class DuplicateEntries(list[Any]):
    """The entries of one list that share a name; together they are one leaf."""


def name_entries(topology: Topology, items: list[Any]) -> dict[PathElement, Any] | None:
    """Return the entries of a list by name, `DuplicateEntries` for shared names; None if an entry has none.

    - None for atomic lists too: they are leaves.
    """
    if not topology.is_list or topology.is_atomic_list:
        return None
    try:
        elements = [topology.name_item(item) for item in items]
    except ItemError:
        return None
    entries = dict(zip(elements, items, strict=True))
    if len(entries) < len(items):
        groups: dict[PathElement, list[Any]] = {}
        for element, item in zip(elements, items, strict=True):
            groups.setdefault(element, []).append(item)
        entries = {e: DuplicateEntries(same) if len(same) > 1 else same[0] for e, same in groups.items()}
    return entries


def collect_leaves(topology: Topology | None, value: Any, path: FieldPath, leaves: dict[FieldPath, Any]) -> None:
    """Add every leaf at or below a path, in the order of the object."""
    if topology is not None and value:
        if isinstance(value, dict) and topology.is_map and not topology.is_atomic_map:
            for name, entry in value.items():
                if type(entry) is str:
                    leaves[(*path, "f:" + name)] = entry  # the fast path
                else:
                    collect_leaves(topology.children[name], entry, (*path, "f:" + name), leaves)
            return
        entries = name_entries(topology, value) if isinstance(value, list) else None
        if entries is not None:
            for element, entry in entries.items():
                collect_entry(topology, element, entry, (*path, element), leaves)
            return
    leaves[path] = value


def collect_entry(
    topology: Topology,
    element: PathElement,
    entry: Any,
    path: FieldPath,
    leaves: dict[FieldPath, Any],
) -> None:
    """Add the leaves of one list entry at `path`; an entry of a set has nothing below it."""
    if type(entry) is DuplicateEntries:
        leaves[path] = list(entry)
    elif element[0] == "v":
        leaves[path] = entry
    else:
        collect_leaves(topology.item, entry, path, leaves)


def list_leaves(root: Node | None, obj: Any) -> dict[FieldPath, Any]:
    """Return every leaf of an object with its path, in the order of the object."""
    leaves: dict[FieldPath, Any] = {}
    collect_leaves(of_root(root), obj, (), leaves)
    return leaves


def find_merge_key(root: Node | None, entry: FieldPath) -> str:
    """Return the key by which strategic merge patches distinguish the entries of the list around an entry; "" if none.

    - The path names an entry by all of its keys; the patch may know fewer: ports of a Service by `port` alone.
    """
    node = root
    for element in entry[:-1]:
        if node is None:
            return ""
        node = node.child(element[2:]) if element[0] == "f" else node.items
    return node.patch_merge_key if node is not None and "merge" in node.patch_strategy else ""


class LeafFinder:
    """Finds the values at many field paths of one object, which must not change meanwhile: each list is named once."""

    def __init__(self, root: Node | None, obj: Any) -> None:
        self._topology, self._obj = of_root(root), obj
        self._named: dict[int, tuple[Topology, dict[PathElement, Any] | None]] = {}

    def find(self, path: FieldPath) -> Any:
        """Return the value at a field path, as `find_value` does."""
        topology: Topology | None = self._topology
        value = self._obj
        for element in path:
            topology, value = _step(topology, value, element, self._name_entries)
            if value is MISSING:
                return MISSING
        return value

    def _name_entries(self, topology: Topology, items: list[Any]) -> dict[PathElement, Any] | None:
        known = self._named.get(id(items))
        if known is None or known[0] is not topology:
            known = self._named[id(items)] = topology, name_entries(topology, items)
        return known[1]


def find_value(root: Node | None, obj: Any, path: FieldPath) -> Any:
    """Return the value at a field path, `MISSING` if the object has none there.

    - A duplicated entry is the list of both.
    """
    return LeafFinder(root, obj).find(path)


def _step(
    topology: Topology | None, value: Any, element: PathElement, name: _NameEntries
) -> tuple[Topology | None, Any]:
    if element[0] == "f":
        key = element[2:]
        if not isinstance(value, dict) or key not in value:
            return None, MISSING
        return (topology.child(key) if topology is not None and topology.is_map else None), value[key]
    if not isinstance(value, list):
        return None, MISSING
    if element[0] == "i":
        position = element_value(element)
        return (topology.item if topology else None), value[position] if position < len(value) else MISSING
    entries = name(topology, value) if topology is not None else None
    found = (entries or {}).get(element, MISSING)
    return (topology.item if topology else None), list(found) if type(found) is DuplicateEntries else found
