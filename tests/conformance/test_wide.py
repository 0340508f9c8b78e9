"""Does the playground answer as the server does, kind by kind?"""

from __future__ import annotations

from pathlib import Path

import pytest

from applyviz.conformance.report import render_report, run_corpora

WIDE = Path(__file__).parent / "wide"

pytestmark = [pytest.mark.conformance, pytest.mark.long]


def test_every_input_of_every_kind_agrees():
    report = run_corpora([WIDE], ["playground"])

    assert report.families["playground"].total >= 5500
    assert report.agrees, render_report(report, show=3)
