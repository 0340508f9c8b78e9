"""Leaves of objects by their field paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.paths import fields, index, key, value
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.nodes import SchemaNode
from applyviz.engine.schema.walk import MISSING, find_value, list_leaves

POD = bundled().find_kind(GroupVersionKind("", "v1", "Pod")).root
NAMES = st.sampled_from(["spec", "containers", "name", "env", "metadata", "finalizers", "labels", "image", "x"])
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "b"])
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=4), max_leaves=25)


def test_leaves_are_named_by_the_topology():
    pod = {
        "metadata": {"finalizers": ["a/b"], "labels": {}},
        "spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "web", "args": ["-v"]}]},
    }
    web = (*fields("spec", "containers"), key({"name": "web"}))

    assert list_leaves(POD, pod) == {
        (*fields("metadata", "finalizers"), value("a/b")): "a/b",
        fields("metadata", "labels"): {},
        fields("spec", "nodeSelector"): {"disk": "ssd"},
        (*web, "f:name"): "web",
        (*web, "f:args"): ["-v"],
    }


def test_entries_of_one_name_are_one_leaf():
    twice = [{"name": "web", "image": "a"}, {"name": "web", "image": "b"}]
    path = (*fields("spec", "containers"), key({"name": "web"}))

    assert list_leaves(POD, {"spec": {"containers": twice}}) == {path: twice}
    assert find_value(POD, {"spec": {"containers": twice}}, path) == twice


def test_list_with_an_unnameable_entry_is_one_leaf():
    containers = [{"name": "web"}, 5]

    assert list_leaves(POD, {"spec": {"containers": containers}}) == {fields("spec", "containers"): containers}


def test_kind_without_schema_has_granular_maps_and_atomic_lists():
    assert list_leaves(None, {"a": {"b": [1]}}) == {fields("a", "b"): [1]}


@pytest.mark.parametrize(
    "path",
    [
        fields("spec", "volumes"),
        fields("kind", "x"),
        (*fields("spec", "containers"), key({"name": "db"})),
        (*fields("spec", "containers"), index(7)),
        (*fields("metadata"), index(0)),
    ],
)
def test_value_that_is_not_there_is_missing(path):
    pod = {"kind": "Pod", "metadata": {}, "spec": {"containers": [{"name": "web"}]}}

    assert find_value(POD, pod, path) is MISSING


def test_value_by_position():
    assert find_value(POD, {"spec": {"containers": [{"name": "web", "args": ["a"]}]}}, (
        *fields("spec", "containers"), index(0), "f:args", index(0),
    )) == "a"  # fmt: skip


@given(VALUES)
def test_every_leaf_is_found_at_its_path(obj):
    leaves = list_leaves(POD, obj)

    assert {path: find_value(POD, obj, path) for path in leaves} == leaves


def test_fields_come_in_the_order_of_the_schema_whichever_was_asked_for_first():
    raw = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}
    node = SchemaNode(raw, {})

    assert node.child("c") is not None
    assert list(node.properties) == ["a", "b", "c"]
