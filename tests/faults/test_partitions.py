"""The wires between workers and database, broker and API server are cut and mended: briefly, for long, flapping.

A wire that is cut holds what is on it: requests arrive late, after whoever sent them gave up.
"""

from __future__ import annotations

import time

import pytest

pytestmark = [pytest.mark.faults, pytest.mark.long]
WIRES = ("database", "broker", "api")


@pytest.mark.parametrize("seconds", [1, 5, 15, 33])
@pytest.mark.parametrize("name", WIRES)
def test_wire_that_is_cut_for_long_loses_nothing(installation, name, seconds):
    """The longest is longer than a request may take: what was sent arrives when its sender no longer listens."""
    runs = installation.bring(3)
    getattr(installation.wires, name).cut(seconds)
    time.sleep(seconds)

    history = installation.settle(runs, seconds=180)
    assert {run.state for run in history.runs} <= {"applied", "failed", "stale"}
    assert name == "api" or {run.state for run in history.runs} == {"applied"}


@pytest.mark.parametrize("name", WIRES)
def test_wire_that_flaps_loses_nothing(installation, name):
    runs = []
    getattr(installation.wires, name).flap(20)
    for _ in range(4):
        runs += installation.bring(1)
        time.sleep(4)

    assert {run.state for run in installation.settle(runs, seconds=180).runs} == {"applied"}
