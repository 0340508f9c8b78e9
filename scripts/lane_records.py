"""Results of lanes, kept for each commit, so that a run of several hours can be made in parts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from scripts.lane_runs import FailedTest, Lane, LaneResult


def commit_of(clone: Path) -> str:
    """Return the commit that a clone has checked out; "" when files differ from it or it is no clone."""
    commands = (("git", "rev-parse", "HEAD"), ("git", "status", "--porcelain"))
    commit, changes = (subprocess.run(command, cwd=clone, capture_output=True, text=True) for command in commands)
    return "" if commit.returncode or changes.stdout else commit.stdout.strip()


def keep_result(result: LaneResult, began_at: str, clone: Path, folder: Path) -> None:
    """Keep the result of a lane that ran and passed, its unstable tests with it; of changed files nothing is kept.

    - `began_at`: the commit when the lanes began; a lane that saw another one at its end is of neither.
    """
    commit = commit_of(clone)
    if not commit or commit != began_at or not result.was_run or result.failed:
        return
    path = _path_of(folder, commit, result.lane)
    path.parent.mkdir(parents=True, exist_ok=True)
    unstable = [asdict(test) for test in result.unstable]
    figures = {"seconds": result.seconds, "processor_seconds": result.processor_seconds, "passed": result.passed}
    path.write_text(json.dumps({**figures, "skips": result.skips, "unstable": unstable}))


def recall_results(chosen: Iterable[Lane], clone: Path, folder: Path) -> dict[str, LaneResult]:
    """Return the kept results of the commit by the name of the lane; each says that it is of an earlier run."""
    commit = commit_of(clone)
    found = {lane.name: (lane, _path_of(folder, commit, lane)) for lane in chosen}
    return {name: _read(lane, path) for name, (lane, path) in found.items() if commit and path.exists()}


def _path_of(folder: Path, commit: str, lane: Lane) -> Path:
    return folder / "passed" / commit / f"{lane.name}.json"


def _read(lane: Lane, path: Path) -> LaneResult:
    kept = json.loads(path.read_text())
    unstable = [FailedTest(**test) for test in kept.pop("unstable")]
    return LaneResult(lane, unstable=unstable, is_earlier=True, **kept)
