"""What a prune or a deletion does to the objects of a cluster that was given as text."""

import pytest

from applyviz.guide.whole_sets import explain_set
from tests.guide.set_cases import CASES, place

NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_set_becomes_what_the_case_says(case):
    answer = explain_set(case.ask("shop"), now=NOW)

    found = {}
    for row in answer.rows:
        keeps = row.stays.value if row.stays is not None else ", ".join(row.finalizers)
        outcome = row.outcome.value
        found[f"{row.ref.gvk.kind}/{row.ref.name}"] = [outcome, keeps] if keeps else outcome
    assert found == {place(name, "shop"): outcome for name, outcome in case.expect.items()}
