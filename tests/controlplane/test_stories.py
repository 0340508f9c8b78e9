"""Stories told anew with the real kubectl: the engine reads, asks and prints as it did."""

from pathlib import Path

import pytest

from applyviz.conformance.report import render_report, run_corpora
from tests.controlplane.proxying import Recorder
from tests.controlplane.record import read_scenarios, tell, write_story

SCENARIOS = Path(__file__).parent / "scenarios"


def judge(plane, names, out):
    with Recorder(plane) as recorder:
        for scenario in read_scenarios([SCENARIOS]):
            if not names or scenario["name"] in names:
                write_story(tell(scenario, recorder, plane.binaries.kubectl), out)
    return run_corpora([out], ["requests", "reading"])


@pytest.mark.long
@pytest.mark.controlplane
def test_story_is_recorded_and_answered_as_kubectl_does(control_plane, tmp_path):
    report = judge(control_plane, ("odd-lists",), tmp_path)

    assert report.families["requests"].total == 17
    assert report.agrees, render_report(report, show=2)


@pytest.mark.long
def test_all_stories_are_answered_as_kubectl_does(own_plane, tmp_path):
    report = judge(own_plane, (), tmp_path)

    assert report.families["requests"].total >= 300
    assert report.agrees, render_report(report, show=5)
