"""Does the product agree with the recordings at least as often as it did before?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from applyviz.conformance.report import FAMILIES, Report, render_report, run_corpora

HERE = Path(__file__).parent
FLOORS = json.loads((HERE / "floors.json").read_text())

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def report() -> Report:
    return run_corpora([HERE / "data"])


@pytest.mark.long
def test_floors_name_every_family(report):
    assert sorted(FLOORS) == sorted(FAMILIES) == sorted(report.families)


@pytest.mark.parametrize("family", FAMILIES)
def test_family_agrees_at_least_as_often_as_its_floor(report, family):
    tally = report.families[family]

    assert tally.agree >= FLOORS[family], render_report(Report({family: tally}), show=3)
