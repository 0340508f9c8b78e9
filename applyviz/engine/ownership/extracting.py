"""The configuration that a field manager applied, extracted from a live object.

Rule: client-go `ExtractInto`: the fields of the manager's Apply entry with their live values, and the keys of the list
entries that hold them. But a key beside one that was applied is left out: the server filled it in (the protocol of a
port), so a manifest without it does not remove it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from itertools import chain
from typing import Any

from applyviz.engine.objects.known_names import NAMING
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value, field
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.managed_fields import APPLY, read_owners
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import Topology, of_root
from applyviz.engine.schema.walk import MISSING, DuplicateEntries, list_leaves, name_entries


def list_keys(kept: Collection[FieldPath]) -> Iterator[FieldPath]:
    """Yield the fields that identify the list entries along these field paths."""
    for path in kept:
        for index, element in enumerate(path):
            if element.startswith("k:"):
                for name in element_value(element):
                    yield (*path[: index + 1], f"f:{name}")


def keep_fields(obj: JSONObject, kept: Collection[FieldPath], root: Node | None) -> JSONObject:
    """Return the object with only these leaves and the keys of their list entries.

    - Maps, lists and entries of which nothing is kept are left out: a null in their place would remove them.
    """
    return _keep_leaves(obj, {*kept, *list_keys(kept)}, root)


def _keep_leaves(obj: JSONObject, wanted: Set[FieldPath], root: Node | None) -> JSONObject:
    found = _keep(of_root(root), obj, (), wanted)
    return found if isinstance(found, dict) else {}


def _keep(topology: Topology | None, value: JSONValue, path: FieldPath, wanted: Set[FieldPath]) -> Any:
    """Return the value with only the wanted leaves, `MISSING` if it has none of them."""
    if path in wanted:
        return value
    if topology is None or not value:
        return MISSING
    if isinstance(value, dict) and topology.is_map and not topology.is_atomic_map:
        below = ((n, _keep(topology.child(n), v, (*path, field(n)), wanted)) for n, v in value.items())
        return {name: kept for name, kept in below if kept is not MISSING} or MISSING
    entries = name_entries(topology, value) if isinstance(value, list) else None
    if entries is None:
        return MISSING
    listed = (_keep_entry(topology, name, entry, path, wanted) for name, entry in entries.items())
    return [*chain.from_iterable(listed)] or MISSING


def _keep_entry(
    topology: Topology, name: PathElement, entry: JSONValue, path: FieldPath, wanted: Set[FieldPath]
) -> Iterator[JSONValue]:
    """Yield an entry of a list with only the wanted leaves, if it has one; entries of one name are one leaf."""
    if isinstance(entry, DuplicateEntries):
        yield from entry if (*path, name) in wanted else ()
        return
    kept = _keep(topology.item, entry, (*path, name), wanted)
    if kept is not MISSING:
        yield kept


def extract(live: JSONObject, managers: Collection[str], root: Node | None) -> JSONObject:
    """Return the fields of these managers' Apply entries with their live values, and the name of the object."""
    owners = read_owners(live)

    def is_applied(path: FieldPath) -> bool:
        found = owners.of(path)
        return any(o.operation == APPLY and o.manager in managers and not o.subresource for o in found)

    applied = {path for path in list_leaves(root, live) if path in NAMING or is_applied(path)}
    return _keep_leaves(live, applied | _list_identifying(applied), root)


def _list_identifying(applied: Set[FieldPath]) -> set[FieldPath]:
    """Return the keys of the entries of which no key was applied."""
    keys = set(list_keys(applied))
    named = {path[:-1] for path in keys & applied}
    return {path for path in keys if path[:-1] not in named}
