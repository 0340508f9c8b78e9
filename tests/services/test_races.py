"""Edit, re-plan, approve, confirm, start, revoke, object on one review at once: one wins, nobody meets an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.services.servers import environment_of, run_postgres

ROOT = Path(__file__).parents[2]
ROUNDS = int(os.environ.get("APPLYVIZ_RACE_ROUNDS", "5000"))


def _race(rounds: int, seed: int, plant: str = "") -> dict[str, Any]:
    with run_postgres() as database:
        command = [sys.executable, "-m", "tests.services.races", str(rounds), str(seed), plant]
        done = subprocess.run(command, env=environment_of(database), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _judge(figures: dict[str, Any], capsys: Any) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\nraces: {figures['rounds']} rounds, won by {figures['won']}; {figures['outcomes']}\n")
    assert figures["broken"] == []
    # Now and then a run wins, now and then a later plan: else nothing was raced. `races` slows a side that always wins.
    for ways in ({"confirm", "start"}, {"edit", "replan"}):
        assert ways & figures["won"].keys()


@pytest.mark.services
def test_whoever_is_first_wins_and_nothing_else_runs(capsys):
    _judge(_race(24, int(os.environ.get("APPLYVIZ_FAULT_SEED", "1"))), capsys)


@pytest.mark.long
@pytest.mark.services
def test_missing_locks_are_found(capsys):
    figures = _race(200, 1, "forget_locks")

    assert figures["broken"], figures


@pytest.mark.long
def test_whoever_is_first_wins_in_very_many_rounds(capsys):
    _judge(_race(ROUNDS, 7), capsys)
