"""Does the product agree with the recordings at least as often as it did before?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from applyviz.conformance.report import FAMILIES, Report, find_corpora, render_report, run_corpora

HERE = Path(__file__).parent
FLOORS = json.loads((HERE / "floors.json").read_text())
# kubectl reads an annotation that is null as an empty text.
KNOWN = "claims-nulls step 1 invocation 0"

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def report() -> Report:
    return run_corpora([HERE / "data"])


@pytest.mark.long
def test_floors_name_every_family(report):
    assert sorted(FLOORS) == sorted(FAMILIES) == sorted(report.families)


def test_a_twelfth_of_the_recordings_agrees():
    report = run_corpora(list(find_corpora([HERE / "data"]))[3::12])

    wrong = {case.name for tally in report.families.values() for case in tally.disagreeing}
    assert {name for name in wrong if not name.startswith(KNOWN)} == set(), render_report(report, show=3)
    assert {"smp3", "reading", "requests", "replay", "plan-confirmed", "plan-estimated"} <= report.families.keys()


@pytest.mark.covering
@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_family_agrees_at_least_as_often_as_its_floor(report, family):
    tally = report.families[family]

    assert tally.agree >= FLOORS[family], render_report(Report({family: tally}), show=3)
