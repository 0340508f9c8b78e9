"""What is hashed before it is stored is what every database returns."""

import json
from decimal import Decimal

import pytest

from applyviz.workflow.foundation.stored_json import as_stored


def read_back(value):
    """A value as PostgreSQL returns it: each number by its digits, without an exponent, and no zero with a sign."""

    def respell(digits):
        number = Decimal(digits)
        return format(number if number else abs(number), "f")

    def read(digits):
        text = respell(digits)
        return float(text) if "." in text else int(text)

    return json.loads(json.dumps(value), parse_float=read)


@pytest.mark.parametrize(
    "number",
    [1e16, 1.5e22, 1e23, -1.5e30, 1.7976931348623157e308, 123456789012345680000.0, 0.1, 1e-7, -0.0, -0.05, 1.0],
)
def test_number_is_what_is_read_back(number):
    stored = as_stored({"spec": [number, {"n": number}]})

    assert (
        json.dumps(stored) == json.dumps(read_back(stored)) == json.dumps(read_back({"spec": [number, {"n": number}]}))
    )


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\0b", "a␀b"),
        ({"a\0": ["\0", "1e23", True, None]}, {"a␀": ["␀", "1e23", True, None]}),
        ({"half": "\ud800", "n": 1e23}, {"half": "\ud800", "n": 10**23}),
    ],
)
def test_texts_keep_everything_but_a_nul(value, stored):
    assert as_stored(value) == stored


@pytest.mark.parametrize("value", [{"a": [1, 0.5, "b", None]}, "text", [], {"name": "3e4f"}])
def test_what_stays_is_the_value_itself_or_equal(value):
    assert as_stored(value) == value
