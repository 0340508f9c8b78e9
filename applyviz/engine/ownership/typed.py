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
    topology: Topology, value: JSONValue, allow_duplicates: bool = False, like: JSONValue = None
) -> list[TypedError] | None:
    """Return all errors of a value; None if there are none (the common case allocates nothing).

    - `like`: another value that is valid here; the parts that both share are skipped.
    """
    if value is None or value is like or topology.takes_anything:
        return None
    if isinstance(value, dict):
        if topology.is_map:
            return _validate_map(topology, value, allow_duplicates, like if isinstance(like, dict) else _NOTHING)
    elif isinstance(value, list):
        if topology.is_list:
            return _validate_list(topology, value, allow_duplicates, like if isinstance(like, list) else ())
    elif topology.scalar:
        return _validate_scalar(topology.scalar, value)
    return [("", _word_mismatch(topology, value))]


def _word_mismatch(topology: Topology, value: JSONValue) -> str:
    if topology.is_map:
        return expect_form("map", value)
    if topology.scalar:
        return expect_scalar(topology.scalar, value)
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
    topology: Topology, value: dict[str, JSONValue], allow_duplicates: bool, like: Mapping[str, JSONValue]
) -> list[TypedError] | None:
    errors: list[TypedError] | None = None
    children = topology.children
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
    topology: Topology, value: list[JSONValue], allow_duplicates: bool, like: Sequence[JSONValue]
) -> list[TypedError] | None:
    item_topology = topology.item
    others = [*like[: len(value)], *[None] * (len(value) - len(like))]
    if topology.is_atomic_list:
        if item_topology.takes_anything:
            return None
        errors: list[TypedError] = []
        for position, item in enumerate(value):
            found = validate(item_topology, item, allow_duplicates, others[position])
            if found:
                errors += _prefixed(f"[{position}]", found)
        return errors or None
    errors = []
    seen: set[PathElement] = set()
    for position, item in enumerate(value):
        try:
            element = topology.name_item(item)
        except ItemError as error:
            errors.append(("", f"element {position}: {error}"))
            return errors
        if element in seen and not allow_duplicates:
            errors.append(("", f"duplicate entries for key {topology.print_item(item)}"))
        seen.add(element)
        found = validate(item_topology, item, allow_duplicates, others[position])
        if found:
            errors += _prefixed(topology.print_item(item), found)
    return errors or None


def collect_fields(topology: Topology, value: JSONValue) -> FieldSet:
    """Return the fields of a whole object (it must be valid)."""
    return _collect(topology, value) or EMPTY


def _collect(topology: Topology, value: JSONValue) -> FieldSet | None:
    """Return the fields below a value; None when the value itself is a leaf."""
    if isinstance(value, dict):
        return None if topology.is_atomic_map else _collect_map(topology, value)
    if isinstance(value, list):
        return None if topology.is_atomic_list else _collect_list(topology, value)
    if value is not None:
        return None
    return _collect_null(topology)


def _collect_null(topology: Topology) -> FieldSet | None:
    if topology.is_map:
        return None if topology.is_atomic_map else EMPTY
    if topology.scalar:
        return None
    return None if topology.is_atomic_list else EMPTY


def _collect_map(topology: Topology, value: dict[str, JSONValue]) -> FieldSet:
    members: list[PathElement] = []
    children: dict[PathElement, FieldSet] = {}
    for name, entry in value.items():
        field = topology.find_field(name)
        child = field or topology.entry
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


def _name_leniently(topology: Topology, item: JSONValue) -> PathElement:
    """Name an item that pruning emptied (null): the API server keeps a blank path element for it."""
    try:
        return topology.name_item(item)
    except ItemError:
        return BLANK_ELEMENT


def _collect_list(topology: Topology, value: list[JSONValue]) -> FieldSet:
    item_topology = topology.item
    elements = [_name_leniently(topology, item) for item in value]
    members = frozenset(elements)
    children: dict[PathElement, FieldSet] = {}
    duplicates = find_duplicates(elements) if len(members) != len(elements) else ()
    for element, item in zip(elements, value, strict=True):
        if element in duplicates:
            continue
        below = _collect(item_topology, item)
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
