"""The configuration that a field manager applied, extracted from a live object.

Rule: client-go `ExtractInto`: the fields of the manager's Apply entry with their live values, and the keys of the list
entries that hold them. But a key beside one that was applied is left out: the server filled it in (the protocol of a
port), so a manifest without it does not remove it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from typing import Any

from applyviz.engine.objects.fieldsets import from_paths
from applyviz.engine.objects.known_names import NAMING
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.managed_fields import APPLY, read_owners
from applyviz.engine.ownership.removing import remove_fields
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import of_root
from applyviz.engine.schema.walk import list_leaves


def list_keys(kept: Collection[FieldPath]) -> Iterator[FieldPath]:
    """Yield the fields that identify the list entries along these field paths."""
    for path in kept:
        for index, element in enumerate(path):
            if element.startswith("k:"):
                for name in element_value(element):
                    yield (*path[: index + 1], f"f:{name}")


def keep_fields(obj: JSONObject, kept: Collection[FieldPath], root: Node | None) -> JSONObject:
    """Return the object with only these leaves and the keys of their list entries; emptied maps are removed."""
    return _keep_leaves(obj, {*kept, *list_keys(kept)}, root)


def _keep_leaves(obj: JSONObject, wanted: Set[FieldPath], root: Node | None) -> JSONObject:
    leaves = list_leaves(root, obj)
    dropped = [path for path in leaves if path not in wanted]
    found: JSONObject = _without_emptied(
        remove_fields(of_root(root), obj, from_paths(dropped)) if dropped else obj, obj
    )
    return found


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


def _without_emptied(value: JSONValue, before: JSONValue) -> Any:
    """Return the value without maps that became empty because nothing in them is kept."""
    if not isinstance(value, dict) or not isinstance(before, dict):
        return value
    found = {name: _without_emptied(child, before.get(name)) for name, child in value.items()}
    return {n: c for n, c in found.items() if c not in ({}, None) or before.get(n) in ({}, None)}
