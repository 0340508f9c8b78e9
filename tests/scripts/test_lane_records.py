"""A run in parts: what passed before on the same commit is left out, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import lane_records, lane_reports, lanes
from scripts.lane_runs import FailedTest, Lane, LaneResult

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture
def clone(tmp_path):
    """A clone with one commit, which ignores the folder of results."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / ".gitignore").write_text("kept\n")
    subprocess.run(("git", "init", "-q"), cwd=folder, check=True)
    commit(folder, "one")
    return folder


def commit(clone: Path, text: str) -> None:
    (clone / "file").write_text(text)
    subprocess.run(("git", "add", "."), cwd=clone, check=True)
    subprocess.run((*GIT, "commit", "-q", "-m", text), cwd=clone, check=True)


def recall(clone: Path, *names: str) -> dict[str, LaneResult]:
    return lane_records.recall_results([Lane(name, ()) for name in names], clone, clone / "kept")


def keep(result: LaneResult, clone: Path) -> None:
    lane_records.keep_result(result, lane_records.commit_of(clone), clone, clone / "kept")


def test_lane_that_passed_on_this_commit_is_left_out_with_what_it_found(clone):
    result = LaneResult(Lane("long pages", ()), "", 12.5, 9.0, passed=3, skips={"no server": 1})
    result.unstable = [FailedTest("test_a.py::test_b", "E")]
    keep(result, clone)

    found = recall(clone, "long pages", "long units")

    assert list(found) == ["long pages"]
    assert found["long pages"] == LaneResult(
        Lane("long pages", ()),
        *("", 12.5, 9.0, 3, 0, {"no server": 1}),
        unstable=[FailedTest("test_a.py::test_b", "E")],
        is_earlier=True,
    )
    assert not lanes.is_good(list(found.values()), is_strict=True)  # what was unstable stays so
    assert lane_reports.render_table(list(found.values())).splitlines()[2].endswith("earlier run of this commit")


def test_result_of_another_commit_of_changed_files_or_of_a_failure_is_not_kept(clone):
    passed = LaneResult(Lane("a", ()), passed=1)
    keep(passed, clone)
    keep(LaneResult(Lane("b", ()), passed=1, failed=1), clone)
    keep(LaneResult(Lane("c", ()), reason="no server"), clone)

    assert list(recall(clone, "a", "b", "c")) == ["a"]
    (clone / "file").write_text("two")
    assert recall(clone, "a") == {}
    keep(LaneResult(Lane("b", ()), passed=1), clone)
    commit(clone, "two")
    assert recall(clone, "a", "b") == {}


def test_result_of_a_lane_is_not_kept_if_a_commit_was_made_meanwhile(clone):
    began_at = lane_records.commit_of(clone)
    commit(clone, "two")

    lane_records.keep_result(LaneResult(Lane("a", ()), passed=1), began_at, clone, clone / "kept")

    assert recall(clone, "a") == {}


def test_folder_that_is_no_clone_has_no_commit(tmp_path):
    assert lane_records.commit_of(tmp_path) == ""


def test_kept_lanes_are_not_run_again_and_stay_in_their_order(monkeypatch):
    first, second = Lane("first", ()), Lane("second", ())
    monkeypatch.setattr(lanes, "run_all", lambda chosen, *_: [LaneResult(lane, passed=2) for lane in chosen])

    results = lanes.run_rest([first, second], {"first": LaneResult(first, passed=1)}, {})

    assert [(result.lane.name, result.passed) for result in results] == [("first", 1), ("second", 2)]
