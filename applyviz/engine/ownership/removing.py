"""Remove fields from an object, and adapt a field set to the current topology.

Rule: structured-merge-diff `RemoveItems`, `EnsureNamedFieldsAreMembers`, `ReconcileFieldSetWithSchema`. A value that
becomes empty becomes null. A set that was written under another topology is adapted to the current one: fields below a
value that is now atomic become the value itself. Atomic values that are now granular stay unchanged.
"""

from __future__ import annotations

from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.paths import PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.merging import LIST, MAP, choose_form, find_form
from applyviz.engine.schema.topology import Topology


def remove_fields(place: Topology, value: JSONValue, fields: FieldSet) -> JSONValue:
    """Return the value without the given fields; unchanged parts are shared with it."""
    form = choose_form(place, find_form(place, value))
    if form is MAP:
        return _remove_from_map(place, value, fields)
    return _remove_from_list(place, value, fields) if form is LIST else value


def _remove_from_map(place: Topology, value: JSONValue, fields: FieldSet) -> JSONValue:
    if not isinstance(value, dict) or not value or place.is_atomic_map:
        return None
    kept = {}
    for name, entry in value.items():
        element = "f:" + name
        if element in fields.members:
            continue
        below = fields.children.get(element)
        child = place.child(name)
        kept[name] = entry if below is None or child is None else remove_fields(child, entry, below)
    return kept or None


def _remove_from_list(place: Topology, value: JSONValue, fields: FieldSet) -> JSONValue:
    if not isinstance(value, list) or not value or place.is_atomic_list:
        return None
    kept = []
    for item in value:
        element = place.name_item(item)
        if element in fields.members:
            continue
        below = fields.children.get(element)
        kept.append(item if below is None else remove_fields(place.item, item, below))
    return kept or None


def _find_place(place: Topology, element: PathElement) -> Topology | None:
    if element[0] == "f":
        return place.child(element[2:]) if place.is_map else None
    return place.item if place.is_list and element[0] == "k" else None


def name_parents(place: Topology | None, fields: FieldSet) -> FieldSet:
    """Return the set plus every declared field that has fields below it; map entries and items are not added."""
    if place is None or not fields.children:
        return fields
    members = set(fields.members)
    children = {}
    for element, below in fields.children.items():
        if place.is_map and element[0] == "f" and place.find_field(element[2:]) is not None:
            members.add(element)
        children[element] = name_parents(_find_place(place, element), below)
    return FieldSet(frozenset(members), children)


def reconcile(place: Topology, fields: FieldSet) -> FieldSet:
    """Return the set under the current topology; the same set if nothing changed.

    - An object that is atomic as a whole keeps every set unchanged: the root has no owner.
    """
    if _is_whole(place):
        return fields
    if place.is_map:
        if place.is_free_form:
            return fields
        return _reconcile_below(place, fields, is_map=True)
    if place.scalar or not place.is_list:
        return fields
    return _reconcile_below(place, fields, is_map=False)


def _is_whole(place: Topology) -> bool:
    """Return whether the values below this path are now owned as a whole."""
    if place.is_map:
        return place.is_atomic_map and not place.is_free_form
    return not place.scalar and place.is_list and place.is_atomic_list


def _reconcile_below(place: Topology, fields: FieldSet, *, is_map: bool) -> FieldSet:
    changed: dict[PathElement, FieldSet | None] = {}
    for element, below in fields.children.items():
        if is_map:
            child = place.child(element[2:]) if element[0] == "f" else place.entry
        else:
            child = place.item
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
