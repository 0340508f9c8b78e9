"""Quantities: how Go parses and writes them, what is read of any value, and what stays in memory.

The owners of a list after only the spelling of a quantity in it changed are as recorded from a real API server.
"""

from __future__ import annotations

import pytest

from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.objects.quantities import canonical_quantity, parse_quantity, read_form, round_up_to_milli


def test_values_that_are_compared_are_not_kept():
    kept = parse_quantity.cache_info().currsize

    assert is_equal_in_meaning("7431m", "7.431")
    assert not is_equal_in_meaning("a text that is no quantity", "another one")

    assert parse_quantity.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("live", "sent", "is_taken"),
    [
        ("500m", "0.5", True),
        ("500m", ".5", True),
        ("500m", "5e-1", True),
        ("2", "2000m", True),
        ("2", "2.0", True),
        ("2", "0.002k", True),
        ("512Mi", "524288Ki", False),
        ("512Mi", "0.5Gi", True),
        ("512Mi", "536870912", True),
        ("1k", "1000", True),
        ("1k", "1e3", True),
        ("10", "1e1", True),
        ("0", "0", False),
        ("1G", "1G", False),
    ],
)
def test_list_is_taken_over_if_go_parses_the_amount_differently(live, sent, is_taken):
    assert (read_form(canonical_quantity(live)) != read_form(sent)) is is_taken


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("7Ei", "7Ei"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("-0.5n", "-1n"),
        ("1.5Gi", "1536Mi"),
        ("1000E", "1"),
        ("1e300", "1e300"),
        ("10000e18", "10e21"),
        ("9" * 40 + "m", "9" * 40 + "m"),
        ("1" * 30 + ".1234567891", "1" * 30 + "123456790n"),
        ("1" * 5000, "1" * 5000),
        ("1" * 5000 + "Ki", "9223372036854775807"),
        ("1e" + "9" * 5000, None),
        ("1E3", "1E3"),
        ("1e+30", "1e+30"),
        ("1e+5", "100e3"),
        ("5e0", "5e0"),
        ("+5", "+5"),
        ("005m", "005m"),
        ("5.", "5."),
        ("+1Ki", "+1Ki"),
        ("+1.5", "1500m"),
        ("0.0", "0"),
        ("0.5Ki", "512"),
    ],
)
def test_quantity_is_written_as_go_writes_it(sent, stored):
    assert canonical_quantity(sent) == stored


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("100u", "1m"),
        ("-100u", "-1m"),
        ("1n", "1m"),
        ("1000500u", "1001m"),
        ("999999u", "1"),
        ("1m", "1m"),
        ("1536Mi", "1536Mi"),
        ("1000000000001u", "1000000001m"),
        ("1e-9", "1e-3"),
        ("no amount", "no amount"),
    ],
)
def test_amount_of_a_resource_is_rounded_away_from_zero_to_milli(sent, stored):
    assert round_up_to_milli(sent) == stored


def test_exponent_beyond_what_is_read_is_no_amount_and_no_other_form_of_one():
    assert parse_quantity("1e500") is None
    assert canonical_quantity("1e500") is None
    assert read_form("1e500") not in (read_form("0"), read_form("1e300"))
