"""The numbers of the pods of a StatefulSet."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.ordinals import list_missing, read_ordinals

HUGE = 2147483647


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ({}, range(1)),
        ({"replicas": 3, "ordinals": {"start": 2}}, range(2, 5)),
        ({"replicas": None, "ordinals": None}, range(1)),
        ({"replicas": "3", "ordinals": {"start": True}}, range(0)),
        ({"replicas": -1}, range(0)),
        ({"replicas": HUGE}, range(HUGE)),
    ],
)
def test_numbers_begin_at_the_start(spec, numbers):
    assert read_ordinals({"spec": spec}) == numbers


@pytest.mark.parametrize(
    ("before", "after", "missing"),
    [
        (range(3), range(2, 5), (range(2),)),
        (range(4), range(1, 3), (range(1), range(3, 4))),
        (range(3), range(5, 8), (range(3),)),
        (range(5, 8), range(3), (range(5, 8),)),
        (range(1, 3), range(4), ()),
        (range(0), range(3), ()),
        (range(HUGE), range(1), (range(1, HUGE),)),
    ],
)
def test_numbers_that_are_outside_are_missing(before, after, missing):
    assert list_missing(before, after) == missing
