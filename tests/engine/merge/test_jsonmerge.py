"""JSON merge patches: three-way, and applied."""

from __future__ import annotations

import pytest

from applyviz.engine.merge.json_merge import apply_json_merge, compute_json_merge
from applyviz.engine.objects.errors import MergeError, PatchError


@pytest.mark.parametrize(
    ("last_applied", "manifest", "live", "patch"),
    [
        ({"a": 1}, {"a": 2}, {"a": 1, "b": 1}, {"a": 2}),
        ({"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 1}, {"b": None}),
        ({}, {"a": 1.0}, {"a": 1}, {}),
        ({}, {"a": True}, {"a": 1}, {"a": True}),
        ({}, {"l": [1, {"x": 1}]}, {"l": [1, {"x": 1, "y": 2}]}, {"l": [1, {"x": 1}]}),
        ({"m": {"x": 1}}, {"m": {}}, {"m": {"x": 1}}, {"m": {"x": None}}),
        ({}, {"m": {}}, {}, {"m": {}}),
        ({}, {"m": {"x": None}}, {"m": {"x": 1}}, {"m": {"x": None}}),
        ({}, {"l": [{"x": None}]}, {}, {"l": [{}]}),
        ({}, {"n": 12345678901234567}, {}, {"n": 12345678901234568}),
    ],
)
def test_three_way_patch(last_applied, manifest, live, patch):
    # A null that is not last applied is a deletion of the manifest itself.
    assert compute_json_merge(last_applied, manifest, live).body == patch


@pytest.mark.parametrize("field", [{"kind": "B"}, {"apiVersion": "v2"}, {"metadata": {"name": "b"}}])
def test_identity_must_not_change(field):
    live = {"kind": "A", "apiVersion": "v1", "metadata": {"name": "a"}}

    with pytest.raises(MergeError, match="precondition failed for"):
        compute_json_merge(live, {**live, **field}, live)


def test_apply_merges_maps_and_replaces_the_rest():
    live = {"a": {"x": 1, "y": 2}, "l": [1, 2], "n": None}

    assert apply_json_merge(live, {"a": {"x": None, "z": {"q": None}}, "l": [{"k": None}], "s": "t"}) == {
        "a": {"y": 2, "z": {}},
        "l": [{}],
        "n": None,
        "s": "t",
    }


def test_apply_takes_maps_only():
    with pytest.raises(PatchError) as caught:
        apply_json_merge({}, [1])

    assert caught.value.status == 400


def test_list_in_place_of_a_map_keeps_its_nulls():
    assert apply_json_merge({"a": {"b": 1}, "c": 1}, {"a": [{"x": None}], "c": [{"x": None}]}) == {
        "a": [{"x": None}],
        "c": [{}],
    }
