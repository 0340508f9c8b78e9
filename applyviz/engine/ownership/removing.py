"""Remove fields from an object, and adapt a field set to the current topology.

Rule: structured-merge-diff `RemoveItems`, `EnsureNamedFieldsAreMembers`, `ReconcileFieldSetWithSchema`. A value that
becomes empty becomes null. A set that was written under another topology is adapted to the current one: fields below a
value that is now atomic become the value itself. Atomic values that are now granular stay unchanged.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.paths import PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.merging import LIST, MAP, choose_form, find_form
from applyviz.engine.schema.topology import Topology


def remove_fields(topology: Topology, value: JSONValue, fields: FieldSet) -> Any:
    """Return the value without the given fields; unchanged parts are shared with it."""
    form = choose_form(topology, find_form(topology, value))
    if form is MAP:
        return _remove_from_map(topology, value, fields)
    return _remove_from_list(topology, value, fields) if form is LIST else value


def _remove_from_map(topology: Topology, value: JSONValue, fields: FieldSet) -> JSONValue:
    if not isinstance(value, dict) or not value or topology.is_atomic_map:
        return None
    kept = {}
    for name, entry in value.items():
        element = "f:" + name
        if element in fields.members:
            continue
        below = fields.children.get(element)
        child = topology.child(name)
        kept[name] = entry if below is None or child is None else remove_fields(child, entry, below)
    return kept or None


def _remove_from_list(topology: Topology, value: JSONValue, fields: FieldSet) -> JSONValue:
    if not isinstance(value, list) or not value or topology.is_atomic_list:
        return None
    kept = []
    for item in value:
        element = topology.name_item(item)
        if element in fields.members:
            continue
        below = fields.children.get(element)
        kept.append(item if below is None else remove_fields(topology.item, item, below))
    return kept or None


def _find_below(topology: Topology, element: PathElement) -> Topology | None:
    if element[0] == "f":
        return topology.child(element[2:]) if topology.is_map else None
    return topology.item if topology.is_list and element[0] == "k" else None


def name_parents(topology: Topology | None, fields: FieldSet) -> FieldSet:
    """Return the set plus every declared field that has fields below it; map entries and items are not added."""
    if topology is None or not fields.children:
        return fields
    members = set(fields.members)
    children = {}
    for element, below in fields.children.items():
        if topology.is_map and element[0] == "f" and topology.find_field(element[2:]) is not None:
            members.add(element)
        children[element] = name_parents(_find_below(topology, element), below)
    return FieldSet(frozenset(members), children)


def reconcile(topology: Topology, fields: FieldSet) -> FieldSet:
    """Return the set under the current topology; the same set if nothing changed.

    - An object that is atomic as a whole keeps every set unchanged: the root has no owner.
    """
    if _is_whole(topology):
        return fields
    if topology.is_map:
        if topology.is_free_form:
            return fields
        return _reconcile_below(topology, fields, is_map=True)
    if topology.scalar or not topology.is_list:
        return fields
    return _reconcile_below(topology, fields, is_map=False)


def _is_whole(topology: Topology) -> bool:
    """Return whether the values below this path are now owned as a whole."""
    if topology.is_map:
        return topology.is_atomic_map and not topology.is_free_form
    return not topology.scalar and topology.is_list and topology.is_atomic_list


def _reconcile_below(topology: Topology, fields: FieldSet, *, is_map: bool) -> FieldSet:
    changed: dict[PathElement, FieldSet | None] = {}
    for element, below in fields.children.items():
        if is_map:
            child = topology.child(element[2:]) if element[0] == "f" else topology.entry
        else:
            child = topology.item
        if child is None:
            continue
        if _is_whole(child):
            changed[element] = None
        else:
            reconciled = reconcile(child, below)
            if reconciled is not below:
                changed[element] = reconciled
    if not changed:
        return fields
    whole = {e for e, below in changed.items() if below is None}
    children = {e: changed.get(e, below) for e, below in fields.children.items() if e not in whole}
    return FieldSet(fields.members | whole, {e: c for e, c in children.items() if c is not None})
