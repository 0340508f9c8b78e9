"""How server-side apply sees places of a schema."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema import topology
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.definitions import DefinitionSet
from applyviz.engine.schema.topology import ATOMIC, DEDUCED, STRING, UNTYPED, ItemError, of, of_root


def place_of(schema, **definitions):
    return of(DefinitionSet({"it": schema, **definitions}.get).get_node("it"))


def forms(place):
    return (place.scalar, place.is_map, place.is_list)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, (STRING, False, False)),
        ({"type": "string", "format": "byte"}, (STRING, False, False)),
        ({"type": "string", "format": "date-time"}, (UNTYPED, False, False)),
        ({"type": "integer"}, ("numeric", False, False)),
        ({"type": "boolean"}, ("boolean", False, False)),
        ({"type": "object"}, ("", True, False)),
        ({"type": "array", "items": {}}, ("", False, True)),
        ({"x-kubernetes-int-or-string": True}, (UNTYPED, True, True)),
        ({"type": ["string", "null"]}, (STRING, False, False)),
    ],
)
def test_type_decides_the_forms(schema, expected):
    assert forms(place_of(schema)) == expected


def test_quantity_is_any_scalar_and_raw_extension_anything():
    name = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    raw = "io.k8s.apimachinery.pkg.runtime.RawExtension"
    schema = {"properties": {"q": {"$ref": name}, "r": {"$ref": raw}}}
    place = place_of(schema, **{name: {"oneOf": []}, raw: {"type": "object"}})

    assert forms(place.find_field("q")) == (UNTYPED, False, False)
    assert place.find_field("r") is ATOMIC


@pytest.mark.parametrize(
    ("schema", "entry"),
    [
        ({"type": "object"}, DEDUCED),
        ({"type": "object", "properties": {"a": {}}}, None),
        ({"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}, DEDUCED),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, DEDUCED),
        ({"type": "object", "additionalProperties": False}, None),
    ],
)
def test_undeclared_entries_are_allowed_or_not(schema, entry):
    assert place_of(schema).entry is entry


def test_preserving_unknown_fields_holds_for_what_is_below_in_the_same_definition():
    inner = {"type": "object", "properties": {"x": {}}}
    schema = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"here": inner, "there": {"$ref": "other"}},
    }
    place = place_of(schema, other=inner)

    assert place.find_field("here").entry is DEDUCED
    assert place.find_field("there").entry is None


@pytest.mark.parametrize(
    ("schema", "is_free"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}, True),
        ({"type": "object", "additionalProperties": {"$ref": "other"}}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "string"}, False),
    ],
)
def test_free_form_has_no_fields_and_untyped_entries(schema, is_free):
    assert place_of(schema, other={}).is_free_form is is_free


def test_what_no_schema_describes_is_free_and_granular():
    assert (of_root(None), DEDUCED.is_free_form, ATOMIC.is_free_form) == (DEDUCED, True, False)
    assert (DEDUCED.entry, DEDUCED.item, ATOMIC.entry) == (DEDUCED, ATOMIC, ATOMIC)
    assert (DEDUCED.is_atomic_map, DEDUCED.is_atomic_list, ATOMIC.is_atomic_map) == (False, True, True)
    assert DEDUCED.find_field("a") is None


def test_map_type_beside_a_reference_overrides_the_definition():
    other = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"properties": {"x": {"$ref": "other", "x-kubernetes-map-type": "atomic"}, "y": {"$ref": "other"}}}
    place = place_of(schema, other=other)

    assert (place.find_field("x").is_atomic_map, place.find_field("y").is_atomic_map) == (True, False)
    assert place.find_field("x").find_field("a").scalar == STRING
    assert place.find_field("x").entry is None


def test_places_of_one_definition_are_one():
    pod = of_root(bundled().find_kind(GroupVersionKind("", "v1", "Pod")).root)
    spec = pod.find_field("spec")

    assert spec.find_field("containers").item is spec.find_field("containers").item
    assert spec is of(bundled().definitions.get_node("io.k8s.api.core.v1.PodSpec"))


@pytest.mark.parametrize(
    ("strategy", "keys", "is_atomic"),
    [
        ({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}, ("name",), False),
        ({"x-kubernetes-patch-strategy": "merge"}, (), False),
        ({"x-kubernetes-patch-strategy": "retainKeys"}, (), True),
        ({"x-kubernetes-list-type": "set"}, (), False),
        ({}, (), True),
    ],
)
def test_list_is_read_from_list_type_or_patch_strategy(strategy, keys, is_atomic):
    place = place_of({"type": "array", "items": {"type": "object"}, **strategy})

    assert (place.keys, place.is_atomic_list) == (keys, is_atomic)


def test_item_is_named_by_its_keys_and_their_defaults():
    items = {"type": "object", "properties": {"port": {}, "protocol": {"default": "TCP"}}}
    schema = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["protocol", "port"]}
    place = place_of({**schema, "items": items})

    assert place.name_item({"port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    assert place.print_item({"port": 80}) == '[port=80,protocol="TCP"]'


def test_names_of_items_are_remembered_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(topology, "_MOST_NAMES", 2)
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    place = place_of({"type": "array", "items": {"type": "object"}, **keys})
    names = ["a", "b", "c", "a", "n" * 1_000]

    assert [place.name_item({"name": name}) for name in names] == [f'k:{{"name":"{name}"}}' for name in names]


@pytest.mark.parametrize("key", [True, 1, 1.5, "1", None])
def test_keys_of_several_types_are_told_apart(key):
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}
    place = place_of({"type": "array", "items": {"type": "object"}, **keys})
    for other in (True, 1, 1.5, "1", None):
        place.name_item({"a": other, "b": "x"})

    assert place.name_item({"a": key, "b": "x"}) == f'k:{{"a":{json.dumps(key)},"b":"x"}}'


def test_item_of_a_set_is_printed_by_its_value():
    assert place_of({"type": "array", "x-kubernetes-list-type": "set", "items": {}}).print_item("a") == '[="a"]'


@pytest.mark.parametrize("item", [None, {}, {"other": 1}, "x"])
def test_item_without_its_keys_cannot_be_named(item):
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    place = place_of({"type": "array", "items": {"type": "object"}, **keys})

    with pytest.raises(ItemError):
        place.name_item(item)


def test_node_of_another_make_is_refused():
    with pytest.raises(SchemaError, match="expected a schema node, got str"):
        of_root("node")
