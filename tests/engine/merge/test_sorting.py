"""Go's two sorts, compared with what Go itself answered."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from applyviz.engine.merge.sorting import sort_by_rank, sort_by_text
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parents[2].joinpath("cases/merge/sorting.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(len(c["texts"])))
def test_order_is_that_of_go(case):
    texts, ranks = case["texts"], case["ranks"]

    assert sort_by_text(range(len(texts)), texts) == case["sorted"]
    assert sort_by_rank(range(len(ranks)), ranks) == case["stable"]


@pytest.mark.parametrize("size", [13, 60, 200, 900])
@pytest.mark.parametrize("kinds", [1, 2, 5, 40])
def test_texts_come_out_in_order_however_often_they_repeat(size, kinds):
    rng = random.Random(size * kinds)
    texts = [f"t{rng.randrange(kinds)}" for _ in range(size)]
    for given in (texts, sorted(texts), sorted(texts, reverse=True), [*["t0"] * size, "t1", "a", *["t0"] * size]):
        assert sort_by_text(given, given) == sorted(given)


def test_few_equal_texts_come_out_reversed():
    assert sort_by_text(["b1", "a1", "b2", "a2"], ["b", "a", "b", "a"]) == ["a2", "a1", "b2", "b1"]
