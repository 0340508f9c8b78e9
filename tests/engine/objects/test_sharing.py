"""Sharing equal parts changes no value, and makes equal versions the very same."""

from __future__ import annotations

import copy
import json
import math

from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects import sharing
from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.sharing import share_equal

SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, -0.0, 1.0, 2.0, "", "a", "1"])
NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3), max_leaves=12)


@given(VALUES, VALUES)
def test_no_value_changes(value, like):
    before = copy.deepcopy([value, like])
    shared = share_equal(value, like)

    assert json.dumps(shared) == json.dumps(value)
    assert json.dumps([value, like]) == json.dumps(before)


@given(VALUES)
def test_equal_versions_become_one(value):
    other = copy.deepcopy(value)

    assert share_equal(other, value) is value


def test_only_what_differs_is_another():
    like = {"spec": {"replicas": 1, "containers": [{"name": "a"}, {"name": "b"}]}, "kind": "X"}
    value = {"spec": {"replicas": 2, "containers": [{"name": "a"}, {"name": "b"}]}, "kind": "X"}
    shared = share_equal(value, like)

    assert shared == value
    assert shared["spec"]["containers"] is like["spec"]["containers"]


def test_a_longer_list_shares_its_beginning():
    like = [{"name": "a"}]
    shared = share_equal([{"name": "a"}, {"name": "b"}], like)

    assert shared == [{"name": "a"}, {"name": "b"}]
    assert shared[0] is like[0]


def test_values_of_one_text_that_are_not_equal_stay_apart():
    value, like = {"a": [float("nan"), "b"]}, {"a": [None, "b"]}

    assert math.isnan(share_equal(value, like)["a"][0])


def test_half_a_surrogate_pair_is_shared_one_by_one():
    like = {"a": ["\ud800", {"b": 1}]}

    assert share_equal(copy.deepcopy(like), like) is like


def test_equal_parts_are_compared_at_once_and_deep_values_a_few_times(monkeypatch):
    written = []
    monkeypatch.setattr(sharing, "write_json", lambda value: written.append(value) or write_json(value))
    monkeypatch.setattr(sharing, "_share_list", None)  # no list is walked
    like = {"metadata": {"version": "1"}, "spec": {"env": [{"name": str(n)} for n in range(1000)]}}
    shared = share_equal({**copy.deepcopy(like), "metadata": {"version": "2"}}, like)

    assert shared["spec"] is like["spec"]
    assert len(written) == 2
    value, other = {"end": 0}, {"end": -0.0}
    for _ in range(50):
        value, other = {"x": value}, {"x": other}
    written.clear()
    assert share_equal(value, other) == value
    assert len(written) == 2 * sharing._DEEPEST
