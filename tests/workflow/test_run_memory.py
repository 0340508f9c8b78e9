"""The memory of a run grows little with the number of its objects, and rounds leave nothing behind."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from applyviz.records.enums import RunState
from applyviz.workflow.runs import run_content
from tests.memory import Memory, start, wire_up
from tests.stories import Team, config_map

pytestmark = [pytest.mark.django_db, pytest.mark.long]
FEW, MANY = 20, 60
KILOBYTES = 16


@pytest.fixture
def team(monkeypatch):
    return wire_up(Team(), Memory(), monkeypatch)


def run_measured(team: Team, count: int, version: str) -> tuple[float, float]:
    """Apply so many objects; how many kB the run needed at most, and how many it left."""
    settings = {f"setting-{n}": version * 1000 for n in range(KILOBYTES)}
    run = start(team, *(config_map(f"object-{n:03}", **settings) for n in range(count)))
    gc.collect()
    tracemalloc.start()
    try:
        team.work(run)
        gc.collect()
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.state == RunState.APPLIED
    return most / 1024, left / 1024


def test_memory_of_a_run_grows_little_with_its_objects(team, monkeypatch):
    monkeypatch.setattr(run_content, "TOGETHER", 8)
    run_measured(team, MANY, "a")  # creates them, and what the process keeps from now on
    few, _ = run_measured(team, FEW, "b")
    many, _ = run_measured(team, MANY, "c")

    assert (many - few) / (MANY - FEW) < 9 * KILOBYTES


def test_ten_rounds_leave_nothing_behind(team):
    run_measured(team, 4, "a")

    left = [run_measured(team, 4, version)[1] for version in "bcdefghijk"]

    assert left[-1] < 1.2 * left[0]
