"""Sharing equal parts changes no value, and makes equal versions the very same."""

from __future__ import annotations

import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.values import share_equal

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
