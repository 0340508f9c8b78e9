"""Typed access to JSON values: the right type comes back, None is empty, anything else stops."""

import pytest

from applyviz.engine.objects.accessors import as_list, as_mapping, as_number, as_text


def test_a_map_is_a_map_and_nothing_is_empty():
    assert as_mapping({"a": 1}) == {"a": 1}
    assert as_mapping(None) == {}


def test_a_list_is_a_list_and_nothing_is_empty():
    assert as_list([1, "a"]) == [1, "a"]
    assert as_list(None) == ()


def test_text_and_integers_are_themselves():
    assert as_text("") == ""
    assert as_number(0) == 0


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (as_mapping, [], "a map, got list"),
        (as_mapping, "", "a map, got str"),
        (as_list, {}, "a list, got dict"),
        (as_list, "text", "a list, got str"),
        (as_text, None, "text, got NoneType"),
        (as_text, 1, "text, got int"),
        (as_number, "1", "an integer, got str"),
        (as_number, True, "an integer, got bool"),
        (as_number, 1.0, "an integer, got float"),
    ],
)
def test_any_other_value_is_refused(read, value, expected):
    with pytest.raises(TypeError, match=f"^expected {expected}$"):
        read(value)
