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


def run(folder: Path, text: str) -> lanes.LaneResult:
    (folder / "test_it.py").write_text(text.format(seen=str(folder / "seen")))
    command = (sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:django", str(folder))
    return lanes.run(lanes.Lane("some", command, is_pytest=True), is_alone=False)


def test_test_that_would_pass_the_second_time_fails_its_lane(tmp_path):
    outcome = run(tmp_path, FLAKY)

    assert (outcome.passed, outcome.failed, outcome.failures) == (1, 1, ["test_it::test_fails_the_first_time"])
    assert "some           FAILED" in lanes.render_table([outcome])


def test_lane_that_takes_longer_than_its_budget_is_named():
    slow, quick = (
        lanes.LaneResult(lanes.Lane(name, (), budget=30), seconds=seconds, processor_seconds=12.0, passed=1)
        for name, seconds in (("slow", 31.0), ("quick", 29.0))
    )

    table = lanes.render_table([slow, quick]).splitlines()

    assert [line.split()[5:] for line in table if line.startswith(("slow", "quick"))] == [
        ["31.0", "12", "30", "over", "budget"],
        ["29.0", "12", "30"],
    ]
    assert lanes.render_sum([slow, quick], 60.0).endswith("over budget: slow")


def test_every_lane_has_a_budget_and_all_together_fit_into_twenty_minutes_on_two_processors(monkeypatch):
    monkeypatch.setattr(lanes, "PROCESSORS", 2)
    every = lanes.lanes(with_long=False)

    assert [lane.name for lane in every if not lane.budget] == []
    assert lanes.budget_of(every) <= 20 * 60


WAIT = """
import pathlib, time
folder, own = pathlib.Path({folder!r}), {name!r}
(folder / own).touch()
deadline = time.monotonic() + 60
while not all((folder / n).exists() for n in {others!r}):
    assert time.monotonic() < deadline
assert not any((folder / n).exists() for n in {later!r})
"""


def wait_for(folder: Path, name: str, load: float, *, others: str = "", later: str = "") -> lanes.Lane:
    """A lane that ends once others have started, and fails when a later one has."""
    text = WAIT.format(folder=str(folder), name=name, others=others, later=later)
    return lanes.Lane(name, (sys.executable, "-c", text), load=load)


def test_lanes_run_side_by_side_as_far_as_their_loads_go(tmp_path, monkeypatch):
    monkeypatch.setattr(lanes, "PROCESSORS", 2)
    chosen = [
        wait_for(tmp_path, "a", 2.0, later="bcd"),
        wait_for(tmp_path, "b", 1.0, others="cd"),
        wait_for(tmp_path, "c", 0.5, others="bd"),
        wait_for(tmp_path, "d", 0.5, others="bc", later="e"),
        wait_for(tmp_path, "e", 1.5),
    ]

    outcomes = lanes.run_all(chosen)

    assert [(o.lane.name, o.passed, o.failed) for o in outcomes] == [(name, 1, 0) for name in "abcde"]


def test_lanes_with_tests_come_after_the_checks_and_the_longest_first():
    every = lanes.lanes(with_long=False)

    assert [lane.is_pytest for lane in every] == sorted(lane.is_pytest for lane in every)
    budgets = [lane.budget for lane in every if lane.is_pytest]
    assert budgets == sorted(budgets, reverse=True)


def test_folder_of_a_lane_without_a_marker_is_left_out_of_the_units():
    every = {lane.name: lane.command for lane in lanes.list_test_lanes()}
    folders = {name: [word for word in command if word.startswith("tests/")] for name, command in every.items()}
    left_out = {word.removeprefix("--ignore=") for word in every["units"] if word.startswith("--ignore=")}

    assert left_out == {*folders["engine"], *folders["pages"]}
    assert [name for name, found in folders.items() if name != "units" and not found] == []


IN_FOLDERS = {
    (
        next(word for word in lane.command if word.startswith("tests/")),
        lane.command[lane.command.index("-m") + 1].split()[0],
    )
    for lane in lanes.lanes(with_long=False)
    if lane.is_pytest and "-m" in lane.command and lane.name != "engine"
}


@pytest.mark.parametrize(("folder", "marker"), sorted(IN_FOLDERS))
def test_lane_looks_where_all_its_tests_are(folder, marker):
    marked = re.compile(rf"pytest\.mark\.{marker}\b")
    found = {path.relative_to(TESTS.parent) for path in TESTS.rglob("test_*.py") if marked.search(path.read_text())}

    assert found
    assert {str(path) for path in found if not path.is_relative_to(folder)} == set()
