"""Differences as data: leaves, meaning, order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff.structural import StructuralDifference, diff_objects, is_equal_in_meaning, is_same_at
from applyviz.engine.objects.paths import fields, render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import is_same_json
from applyviz.engine.schema import builtin
from applyviz.engine.schema.walk import MISSING, list_leaves
from tests.engine.reorderings import find_reorderings

ROOT = builtin.bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment")).root


def pod(*containers, **metadata):
    return {"metadata": metadata, "spec": {"template": {"spec": {"containers": list(containers)}}}}


def test_leaves_that_came_went_and_changed():
    before = {"spec": {"replicas": 1, "paused": True, "minReadySeconds": 3}}
    after = {"spec": {"replicas": 2, "minReadySeconds": 3.0, "revisionHistoryLimit": 1}}

    assert diff_objects(before, after, root=ROOT) == (
        StructuralDifference(fields("spec", "replicas"), 1, 2),
        StructuralDifference(fields("spec", "paused"), True, MISSING),
        StructuralDifference(fields("spec", "revisionHistoryLimit"), MISSING, 1),
    )


def test_entries_are_paired_by_key_and_values_of_sets_by_themselves():
    before = pod({"name": "a", "image": "1"}, {"name": "b"}, finalizers=["x", "y"])
    after = pod({"name": "b"}, {"name": "a", "image": "2"}, finalizers=["y", "z"])

    found = diff_objects(before, after, root=ROOT)

    assert [render_path(d.path) for d in found] == [
        '.metadata.finalizers[="x"]',
        '.spec.template.spec.containers[name="a"].image',
        '.metadata.finalizers[="z"]',
    ]
    assert [render_path(p) for p in find_reorderings(before, after, root=ROOT)] == [".spec.template.spec.containers"]


def test_order_is_found_below_entries_too_and_not_in_atomic_lists():
    env = [{"name": "A"}, {"name": "B"}]
    before = pod({"name": "a", "env": env, "args": ["x", "y"]})
    after = pod({"name": "a", "env": env[::-1], "args": ["y", "x"]})

    assert [render_path(p) for p in find_reorderings(before, after, root=ROOT)] == [
        '.spec.template.spec.containers[name="a"].env'
    ]
    assert [render_path(d.path) for d in diff_objects(before, after, root=ROOT)] == [
        '.spec.template.spec.containers[name="a"].args'
    ]


def test_entries_that_share_a_key_change_places_too():
    before = pod({"name": "a"}, {"name": "b"}, {"name": "a", "image": "2"})
    after = pod({"name": "a"}, {"name": "a", "image": "2"}, {"name": "b"})

    assert [render_path(p) for p in find_reorderings(before, after, root=ROOT)] == [".spec.template.spec.containers"]
    assert find_reorderings(before, {**before}, root=ROOT) == ()


def test_a_list_with_an_entry_that_cannot_be_named_is_one_leaf():
    before, after = pod({"name": "a"}, "odd"), pod("odd", {"name": "a"})

    assert [render_path(d.path) for d in diff_objects(before, after, root=ROOT)] == [".spec.template.spec.containers"]
    assert find_reorderings(before, after, root=ROOT) == ()


NAMES = st.sampled_from(["spec", "containers", "name", "env", "metadata", "finalizers", "labels", "image", "x"])
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([1.0, "a", "b"])
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=4), max_leaves=25)
PODS = st.fixed_dictionaries(
    {"metadata": VALUES, "spec": st.fixed_dictionaries({"containers": st.lists(VALUES, max_size=3)})}
)


@given(VALUES | PODS, VALUES | PODS)
def test_differences_are_those_of_the_leaves(before, after):
    root = ROOT.child("spec").child("template")
    left, right = list_leaves(root, before), list_leaves(root, after)

    found = diff_objects(before, after, root=root) if None not in (before, after) else ()

    if None not in (before, after):
        assert {d.path: (d.before, d.after) for d in found} == {
            path: (left.get(path, MISSING), right.get(path, MISSING))
            for path in {**left, **right}
            if path not in left or path not in right or not is_same_json(left[path], right[path])
        }
        assert len({d.path for d in found}) == len(found)


def test_no_object_has_no_leaves():
    assert diff_objects(None, {"a": 1}) == (StructuralDifference(fields("a"), MISSING, 1),)
    assert find_reorderings(None, {"a": [1]}) == ()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1000m", 1),
        ("0.5", "500m"),
        ("1Gi", "1024Mi"),
        ("1e3", "1k"),
        ("1Ki", 1024),
        ("100u", "0.1m"),
        ("2E", "2e18"),
    ],
)
def test_amounts_are_equal_in_meaning(left, right):
    assert is_equal_in_meaning(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *[
            ("1", "2"),
            ("1m", "1s"),
            ("a", "b"),
            (True, 1),
            ("", "0"),
            ("1Gi", "1G"),
            (None, 0),
            ({}, "0"),
            ("1h", "x"),
            ("60s", "1m0s"),
        ],
        *[("1e99999999999999999999", "1"), ("1" * 30 + "1", "1" * 30 + "2")],
    ],
)
def test_others_are_not(left, right):
    assert not is_equal_in_meaning(left, right)


@pytest.mark.parametrize(
    ("path", "left", "right", "same"),
    [
        ("spec.containers.resources", "1", "1", True),
        ("limits", "500m", "0.5", True),
        ("limits", "500m", "0.6", False),
        ("limits", {"a": 1}, {"a": 2}, False),
        ("image", "500m", "0.5", False),
        ("beyond", "500m", "0.5", False),
        ("beneath", "500m", "0.5", False),
    ],
)
def test_values_of_a_quantity_are_compared_by_meaning(path, left, right, same):
    container = ("f:spec", "f:containers", 'k:{"name":"a"}')
    places = {
        "limits": (*container, "f:resources", "f:limits", "f:cpu"),
        "image": (*container, "f:image"),
        "beyond": (*container, "f:image", "f:a", "f:b"),
        "beneath": (*container, "f:unknown", "f:a", "f:b"),
    }
    root = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Pod")).root

    assert is_same_at(root, places.get(path, ()), left, right) is same
