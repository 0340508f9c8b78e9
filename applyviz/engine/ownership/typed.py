"""Check an object against its topology, and collect its fields.

Rule: structured-merge-diff `typed`: undeclared fields, wrong forms, entries that cannot be named and duplicate entries
are errors (duplicates are allowed in live objects). The fields of an object are its leaves (scalars, atomic values,
empty and null maps), every list entry, and every undeclared map entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.fieldsets import EMPTY, FieldSet
from applyviz.engine.objects.paths import PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.errors import TypedError, expect_form, expect_scalar
from applyviz.engine.schema.topology import BOOLEAN, NUMERIC, STRING, ItemError, Topology

BLANK_ELEMENT: PathElement = ""
_NOTHING: Mapping[str, JSONValue] = {}


def _prefixed(prefix: str, errors: list[TypedError] | None) -> list[TypedError]:
    return [(prefix + where, what) for where, what in errors] if errors else []


def validate(
    place: Topology, value: JSONValue, allow_duplicates: bool = False, like: JSONValue = None
) -> list[TypedError] | None:
    """Return all errors of a value; None if there are none (the common case allocates nothing).

    - `like`: another value that is valid here; the parts that both share are skipped.
    """
    if value is None or value is like or place.takes_anything:
        return None
    if isinstance(value, dict):
        if place.is_map:
            return _validate_map(place, value, allow_duplicates, like if isinstance(like, dict) else _NOTHING)
    elif isinstance(value, list):
        if place.is_list:
            return _validate_list(place, value, allow_duplicates, like if isinstance(like, list) else ())
    elif place.scalar:
        return _validate_scalar(place.scalar, value)
    return [("", _word_mismatch(place, value))]


def _word_mismatch(place: Topology, value: JSONValue) -> str:
    if place.is_map:
        return expect_form("map", value)
    if place.scalar:
        return expect_scalar(place.scalar, value)
    return expect_form("list", value)


def _validate_scalar(scalar: str, value: JSONValue) -> list[TypedError] | None:
    form = type(value)
    if (
        (scalar == STRING and form is not str)
        or (scalar == NUMERIC and form is not int and form is not float)
        or (scalar == BOOLEAN and form is not bool)
    ):
        return [("", expect_scalar(scalar, value))]
    return None


def _validate_map(
    place: Topology, value: dict[str, JSONValue], allow_duplicates: bool, like: Mapping[str, JSONValue]
) -> list[TypedError] | None:
    errors: list[TypedError] | None = None
    children = place.children
    for name, entry in value.items():
        child = children[name]
        if child is not None and child.scalar == STRING and type(entry) is str:
            continue  # the fast path
        if child is None:
            found: list[TypedError] | None = [("", "field not declared in schema")]
        else:
            found = validate(child, entry, allow_duplicates, like.get(name))
        if found:
            errors = (errors or []) + _prefixed(f".{name}", found)
    return errors


def _validate_list(
    place: Topology, value: list[JSONValue], allow_duplicates: bool, like: Sequence[JSONValue]
) -> list[TypedError] | None:
    item_place = place.item
    others = [*like[: len(value)], *[None] * (len(value) - len(like))]
    if place.is_atomic_list:
        if item_place.takes_anything:
            return None
        errors: list[TypedError] = []
        for position, item in enumerate(value):
            found = validate(item_place, item, allow_duplicates, others[position])
            if found:
                errors += _prefixed(f"[{position}]", found)
        return errors or None
    errors = []
    seen: set[PathElement] = set()
    for position, item in enumerate(value):
        try:
            element = place.name_item(item)
        except ItemError as error:
            errors.append(("", f"element {position}: {error}"))
            return errors
        if element in seen and not allow_duplicates:
            errors.append(("", f"duplicate entries for key {place.print_item(item)}"))
        seen.add(element)
        found = validate(item_place, item, allow_duplicates, others[position])
        if found:
            errors += _prefixed(place.print_item(item), found)
    return errors or None


def collect_fields(place: Topology, value: JSONValue) -> FieldSet:
    """Return the fields of a whole object (it must be valid)."""
    return _collect(place, value) or EMPTY


def _collect(place: Topology, value: JSONValue) -> FieldSet | None:
    """Return the fields below a value; None when the value itself is a leaf."""
    if isinstance(value, dict):
        return None if place.is_atomic_map else _collect_map(place, value)
    if isinstance(value, list):
        return None if place.is_atomic_list else _collect_list(place, value)
    if value is not None:
        return None
    return _collect_null(place)


def _collect_null(place: Topology) -> FieldSet | None:
    if place.is_map:
        return None if place.is_atomic_map else EMPTY
    if place.scalar:
        return None
    return None if place.is_atomic_list else EMPTY


def _collect_map(place: Topology, value: dict[str, JSONValue]) -> FieldSet:
    members: list[PathElement] = []
    children: dict[PathElement, FieldSet] = {}
    for name, entry in value.items():
        field = place.find_field(name)
        child = field or place.entry
        element = "f:" + name
        if child is None or (child.scalar and type(entry) is str):
            members.append(element)  # the fast path
            continue
        below = _collect(child, entry)
        if below is None:
            members.append(element)
            continue
        if below:
            children[element] = below
        if field is None or entry is None or entry == {}:
            members.append(element)
    return FieldSet(frozenset(members), children)


def _name_leniently(place: Topology, item: JSONValue) -> PathElement:
    """Name an item that pruning emptied (null): the API server keeps a blank path element for it."""
    try:
        return place.name_item(item)
    except ItemError:
        return BLANK_ELEMENT


def _collect_list(place: Topology, value: list[JSONValue]) -> FieldSet:
    item_place = place.item
    elements = [_name_leniently(place, item) for item in value]
    members = frozenset(elements)
    children: dict[PathElement, FieldSet] = {}
    duplicates = find_duplicates(elements) if len(members) != len(elements) else ()
    for element, item in zip(elements, value, strict=True):
        if element in duplicates:
            continue
        below = _collect(item_place, item)
        if below:
            children[element] = below
    return FieldSet(members, children)


def find_duplicates(elements: list[PathElement]) -> frozenset[PathElement]:
    """Return the elements that name more than one entry."""
    seen: set[PathElement] = set()
    twice: set[PathElement] = set()
    for element in elements:
        (twice if element in seen else seen).add(element)
    return frozenset(twice)
