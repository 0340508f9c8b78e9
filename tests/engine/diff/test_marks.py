"""The marks of masked values are found wherever they are written, and two of them are equal without their tags."""

from __future__ import annotations

import json

from applyviz.engine.diff.marks import CLOSE, OPEN, find_tags, is_masked, remove_tags

ONE, TWO = f"{OPEN} 0a1b{CLOSE}", f"{OPEN} 2c3d{CLOSE}"
TAG_ONE, TAG_TWO = f"{OPEN} 0a1b", f"{OPEN} 2c3d"


def test_tags_are_found_in_names_values_lists_and_texts():
    value = {ONE: "plain", "list": [f"x={TWO}", 5, None], "deep": ({"a": ONE},)}

    assert find_tags(value) == {TAG_ONE, TAG_TWO}
    assert find_tags({"a": 1, "b": ["plain"]}) == frozenset()


def test_tags_in_escaped_json_are_found_too():
    assert len(find_tags(json.dumps({"a": ONE, "b": TWO}))) == 2


def test_values_without_tags_are_equal_and_still_masked():
    one, two = (remove_tags({"a": [mark, 5], mark: ("x", mark)}) for mark in (ONE, TWO))

    assert one == two
    assert is_masked(one)
    assert find_tags(one) == frozenset()
