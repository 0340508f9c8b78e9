"""Go's two sorts, compared with what Go itself answered."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from applyviz.engine.merge.sorting import sort_by_rank, sort_by_text

CASES = yaml.safe_load(Path(__file__).parents[2].joinpath("cases/merge/sorting.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(len(c["texts"])))
def test_order_is_that_of_go(case):
    texts, ranks = case["texts"], case["ranks"]

    assert sort_by_text(range(len(texts)), texts) == case["sorted"]
    assert sort_by_rank(range(len(ranks)), ranks) == case["stable"]


def test_few_equal_texts_come_out_reversed():
    assert sort_by_text(["b1", "a1", "b2", "a2"], ["b", "a", "b", "a"]) == ["a2", "a1", "b2", "b1"]
