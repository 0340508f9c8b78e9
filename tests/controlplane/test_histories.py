"""Random histories of several writers: the engine keeps ownership as the Go libraries do, step by step."""

import os

import pytest

from applyviz.conformance.ownership import answer, compare_answers
from tests.controlplane.explore import find_documents
from tests.controlplane.histories import Historian
from tests.controlplane.judge import Judge, find_oracle

SEED = int(os.environ.get("APPLYVIZ_SEED", "1"))


def find_disagreements(count: int, seed: int) -> list[object]:
    with Judge(find_oracle(), find_documents()) as judge:
        historian = Historian(judge, seed)
        return [
            (reason, case)
            for case in historian.make_cases(count)
            if (reason := compare_answers(case["expected"], answer(case["op"], case["input"], historian.kinds)))
        ]


@pytest.mark.controlplane
def test_engine_keeps_ownership_as_go_does(binaries):
    assert find_disagreements(300, SEED) == []


@pytest.mark.long
def test_engine_keeps_ownership_as_go_does_for_very_long(binaries):
    assert find_disagreements(20_000, SEED + 1_000) == []
