"""What `scripts/test` does with a test that fails: one more attempt in a new process, and never silently."""

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
BROKEN = """
def test_fails_every_time():
    raise AssertionError
"""


def run(folder: Path, text: str) -> lanes.Outcome:
    (folder / "test_it.py").write_text(text.format(seen=str(folder / "seen")))
    command = (sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:django", str(folder))
    return lanes.run(lanes.Lane("some", command, is_pytest=True, has_second_try=True), is_alone=False)


def test_flaky_test_passes_and_is_named(tmp_path, capfd):
    outcome = run(tmp_path, FLAKY)

    assert (outcome.passed, outcome.failed, [name.rpartition("::")[2] for name in outcome.flaky]) == (
        2,
        0,
        ["test_fails_the_first_time"],
    )
    assert "flaky: failed once and passed started anew: test_it::test_fails_the_first_time" in lanes.render_table(
        [outcome]
    )
    assert "some, second attempt at test_it::test_fails_the_first_time" in capfd.readouterr().out


def test_test_that_fails_twice_fails_its_lane(tmp_path):
    outcome = run(tmp_path, FLAKY + BROKEN)

    assert (outcome.passed, outcome.failed, outcome.flaky) == (2, 1, ["test_it::test_fails_the_first_time"])


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
