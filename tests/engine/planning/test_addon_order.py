"""Addons of a channel are applied in its order, but after what they need; a cycle of needs keeps the order."""

import pytest

from applyviz.engine.planning.sets.addon_order import sort_names


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ({}, "abcd"),
        ({"a": "d"}, "bcda"),
        ({"a": "bc", "b": "d"}, "cdba"),
        ({"a": "b", "b": "c", "c": "d"}, "dcba"),
        ({"a": "b", "b": "a"}, "cdab"),
        ({"a": "b", "b": "ac", "c": "a", "d": "b"}, "acbd"),
        ({"a": "b", "b": "a", "c": "a", "d": "c"}, "abcd"),
    ],
)
def test_each_name_comes_after_those_that_it_needs(before, expected):
    needs = {name: set(before.get(name, "")) for name in "abcd"}

    assert "".join(sort_names("abcd", needs)) == expected
