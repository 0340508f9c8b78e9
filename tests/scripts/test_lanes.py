"""What `scripts/test` does: a test runs once, lanes run side by side, and each has a budget."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scripts import lanes

TESTS = Path(__file__).parents[1]
FLAKY = """
from pathlib import Path

def test_fails_the_first_time():
    seen = Path({seen!r})
    if not seen.exists():
        seen.touch()
        raise AssertionError

def test_passes():
    pass
"""


def run(folder: Path, text: str) -> lanes.Outcome:
    (folder / "test_it.py").write_text(text.format(seen=str(folder / "seen")))
    command = (sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:django", str(folder))
    return lanes.run(lanes.Lane("some", command, is_pytest=True), is_alone=False)


def test_test_that_would_pass_the_second_time_fails_its_lane(tmp_path):
    outcome = run(tmp_path, FLAKY)

    assert (outcome.passed, outcome.failed, outcome.failures) == (1, 1, ["test_it::test_fails_the_first_time"])
    assert "some           FAILED" in lanes.render_table([outcome])


def test_lane_that_takes_longer_than_its_budget_is_named():
    slow, quick = (
        lanes.Outcome(lanes.Lane(name, (), budget=30), seconds=seconds, passed=1)
        for name, seconds in (("slow", 31.0), ("quick", 29.0))
    )

    table = lanes.render_table([slow, quick]).splitlines()

    assert [line.split()[5:] for line in table if line.startswith(("slow", "quick"))] == [
        ["31.0", "30", "over", "budget"],
        ["29.0", "30"],
    ]
    assert lanes.render_sum([slow, quick], 60.0).endswith("over budget: slow")


def test_every_lane_has_a_budget_and_all_together_fit_into_twenty_minutes_on_two_processors(monkeypatch):
    monkeypatch.setattr(lanes, "SEATS", 2)
    every = lanes.lanes(with_long=False)

    assert [lane.name for lane in every if not lane.budget] == []
    assert lanes.budget_of(every) <= 20 * 60


def test_lanes_run_side_by_side_as_far_as_the_seats_go(tmp_path, monkeypatch):
    monkeypatch.setattr(lanes, "SEATS", 2)
    wait = f"""
import pathlib, time
folder, own = pathlib.Path({str(tmp_path)!r}), {{name!r}}
(folder / own).touch()
deadline = time.monotonic() + 30
while own in "ab" and not all((folder / n).exists() for n in "ab"):
    assert time.monotonic() < deadline
assert own != "c" or not (folder / "a").exists()
"""
    chosen = [
        lanes.Lane(name, (sys.executable, "-c", wait.format(name=name)), seats=2 if name == "c" else 1)
        for name in "cab"
    ]

    outcomes = lanes.run_all(chosen)

    assert [(outcome.lane.name, outcome.passed, outcome.failed) for outcome in outcomes] == [
        ("c", 1, 0),
        ("a", 1, 0),
        ("b", 1, 0),
    ]


IN_FOLDERS = {
    (lane.command[2], lane.command[lane.command.index("-m") + 1].split()[0])
    for lane in lanes.lanes(with_long=False)
    if lane.is_pytest and "-m" in lane.command and lane.name != "engine"
}


@pytest.mark.parametrize(("folder", "marker"), sorted(IN_FOLDERS))
def test_lane_looks_where_all_its_tests_are(folder, marker):
    marked = re.compile(rf"pytest\.mark\.{marker}\b")
    found = {path.relative_to(TESTS.parent) for path in TESTS.rglob("test_*.py") if marked.search(path.read_text())}

    assert found
    assert {str(path) for path in found if not path.is_relative_to(folder)} == set()
