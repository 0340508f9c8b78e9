"""Numbers, strings and JSON as Go writes them."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.golang import (
    element_string,
    json_number,
    json_string,
    quote,
    read_digits,
    read_integer,
    read_signed,
    render_json,
    render_number,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("number", "printed", "written"),
    [
        (1, "1", "1"),
        (1.0, "1", "1"),
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (-1.5, "-1.5", "-1.5"),
        (1e6, "1e+06", "1000000"),
        (1234567.5, "1.2345675e+06", "1234567.5"),
        (1e21, "1e+21", "1e+21"),
        (1e-4, "0.0001", "0.0001"),
        (-2.5e-7, "-2.5e-07", "-2.5e-7"),
        (1e-10, "1e-10", "1e-10"),
    ],
)
def test_numbers(number, printed, written):
    assert (render_number(number), json_number(number)) == (printed, written)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("0" * 5000 + "5", 5),
        ("18446744073709551615", (1 << 64) - 1),
        ("18446744073709551616", None),
        ("9" * 5000, None),
        ("\xb2", None),
        ("\u0663", None),
        ("-1", None),
        ("", None),
    ],
)
def test_digits_are_read_as_go_reads_them(text, number):
    assert read_digits(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+7", 7),
        ("-07", -7),
        ("9223372036854775807", (1 << 63) - 1),
        ("-9223372036854775808", -(1 << 63)),
        ("9223372036854775808", None),
        ("-" + "9" * 5000, None),
        ("+-1", None),
        ("-\u0663", None),
        ("1_0", None),
        ("-", None),
    ],
)
def test_numbers_with_a_sign_are_read_as_go_reads_them(text, number):
    assert read_signed(text) == number


def test_strings():
    assert quote('a"\\\n\xe9') == '"a\\"\\\\\\n\xe9"'
    assert json_string("<&>\u2028\b\\b\n") == r'"\u003c\u0026\u003e\u2028\b\\b\n"'
    assert element_string("\b\f\\b") == r'"\u0008\u000c\\b"'


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": [1.0, {"c": 1e21}], "a": "1.5"}, '{"a":"1.5","b":[1,{"c":1e+21}]}'),
        ({"image": "web:1.5", "list": ["[1.5", '":2.5']}, '{"image":"web:1.5","list":["[1.5","\\":2.5"]}'),
        ({"a\\": 2.0}, '{"a\\\\":2}'),
        ({"a": MappingProxyType({"b": "<"})}, '{"a":{"b":"\\u003c"}}'),
    ],
)
def test_json_is_written_as_go_writes_it(value, written):
    assert render_json(value) == written


def test_json_is_sorted_and_compact():
    assert render_json({"b": [1.0, None, True], "a": {"x": "y"}}) == '{"a":{"x":"y"},"b":[1,null,true]}'


@given(JSON)
def test_json_keeps_its_value(value):
    assert json.loads(render_json(value), parse_int=float) == json.loads(json.dumps(value), parse_int=float)


def test_maps_that_python_cannot_encode_are_written_all_the_same():
    assert render_json({"a": MappingProxyType({"b": 1})}) == '{"a":{"b":1}}'


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-12", -12),
        ("999999999999999999", 999999999999999999),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", 2.0**63),
        ("-9223372036854775809", -(2.0**63)),
        ("9223372036854776000", 2.0**63),
        ("100000000000000000000", 1e20),
        ("1" + "0" * 5000, float("inf")),
    ],
)
def test_integers_beyond_64_bits_are_floats_as_in_go(text, number):
    found = read_integer(text)

    assert (found, type(found)) == (number, type(number))
    assert len(text) > 21 or json_number(found) == json_number(json.loads(text, parse_int=read_integer))
