"""Path elements and paths are spelled as the API server spells them."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.paths import (
    element_value,
    field,
    fields,
    index,
    key,
    normalize_element,
    render_path,
    render_value,
    sort_key,
    value,
    write_element,
)


@pytest.mark.parametrize(
    ("element", "text", "rendered"),
    [
        (field("image"), "f:image", ".image"),
        (key({"port": 80, "protocol": "TCP"}), 'k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'),
        (key({"name": "a<b"}), 'k:{"name":"a\\u003cb"}', '[name="a<b"]'),
        (key({"on": True, "x": None}), 'k:{"on":true,"x":null}', "[on=true,x=null]"),
        (value("x"), 'v:"x"', '[="x"]'),
        (value(1.0), "v:1", "[=1]"),
        (value(1e-7), "v:1e-07", "[=1e-07]"),
        (value([1, {"a": 2}]), 'v:[1,{"a":2}]', "[=[1,a=2]]"),
        (index(3), "i:3", "[3]"),
    ],
)
def test_element_has_its_text_and_its_rendering(element, text, rendered):
    assert element == text
    assert render_path((element,)) == rendered


def test_path_from_managed_fields_prints_numbers_as_floats():
    path = (*fields("spec"), key({"id": 1234567, "name": "x"}), value(8080))

    assert render_path(path) == '.spec[id=1234567,name="x"][=8080]'
    assert render_path(path, is_stored=True) == '.spec[id=1.234567e+06,name="x"][=8080]'


def test_large_integers_of_one_float_are_two():
    one, other = value(9007199254740992), value(9007199254740993)

    assert (one == other, one != other, len({one, other})) == (False, True, 2)
    assert one == other[:] == value(9007199254740992.0)
    assert value(9007199254740993) == other


def test_large_integer_equals_its_float_and_keeps_its_digits():
    element = value(9007199254740993)

    assert element == normalize_element("v:9007199254740993")
    assert write_element(element) == "v:9007199254740993"
    assert element_value(element) == 9007199254740993
    assert write_element(key({"id": -9007199254740993})) == 'k:{"id":-9007199254740993}'


@pytest.mark.parametrize("text", ["f", "no colon", "k:5", "k:{", "v:", "i:one"])
def test_what_is_no_element_is_an_error(text):
    with pytest.raises(ValueError):  # noqa: PT011 (also what the JSON reader raises)
        normalize_element(text)


def test_order_is_fields_keys_values_indices():
    mixed = [index(2), value(None), value({"a": 1}), value([1]), value(True), value("a"), value(2), value(1.5)]
    mixed += [key({"name": "b"}), key({"name": "a"}), field("b"), field("a")]

    assert sorted(mixed, key=sort_key) == mixed[::-1]


def test_value_is_rendered_as_go_prints_it():
    texts = [render_value(v) for v in ("\x00\x7f\t\u200b\U000e0001", 1e6, 0.5, False)]

    assert texts == ['"\\x00\\x7f\\t\\u200b\\U000e0001"', "1e+06", "0.5", "false"]
