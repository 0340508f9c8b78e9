"""Values without a schema are compared as deep as they have the same shape."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.free_form import FreeDifference, diff_free
from applyviz.engine.schema.walk import MISSING


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({}, {"a": {"b": 1}}, [("a", MISSING, {"b": 1})]),
        ({"a": 1}, {}, [("a", 1, MISSING)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": 1}, {"a": "1"}, [("a", 1, "1")]),
        ({"a": None}, {"a": ""}, [("a", None, "")]),
        ({"x": {"y": 1}}, {"x": {"z": 2}}, [("x.y", 1, MISSING), ("x.z", MISSING, 2)]),
        ({"l": [1, 2, 3]}, {"l": [1, 3]}, [("l[1]", 2, 3), ("l[2]", 3, MISSING)]),
        ([{"a": 1}], [{"a": 2}], [("[0].a", 1, 2)]),
        ({"a": [1]}, {"a": {"b": 1}}, [("a", [1], {"b": 1})]),
    ],
)
def test_differences_are_named_by_their_path(before, after, found):
    assert [(one.name, one.before, one.after) for one in diff_free(before, after)] == found


def test_differences_come_in_the_order_of_their_paths():
    after = {"b": 1, "a": list(range(12))}

    assert [one.name for one in diff_free({"a": [0] * 12, "b": 0}, after)] == [*(f"a[{n}]" for n in range(1, 12)), "b"]


def test_path_is_made_of_keys_and_positions():
    assert diff_free({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == (FreeDifference(("a", 0, "b"), 1, 2),)
