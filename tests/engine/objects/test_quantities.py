"""Quantities: what is read of any value, and what stays in memory."""

from __future__ import annotations

from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.objects.quantities import parse_quantity


def test_values_that_are_compared_are_not_kept():
    kept = parse_quantity.cache_info().currsize

    assert is_equal_in_meaning("7431m", "7.431")
    assert not is_equal_in_meaning("a text that is no quantity", "another one")

    assert parse_quantity.cache_info().currsize == kept
