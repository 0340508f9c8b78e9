"""A run survives what is done to it at any point: the history holds no violation, and everything ends.

Which points, a seed of the day says (`APPLYVIZ_FAULT_SEED`); `--long` tries very many.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.checker import find_violations
from tests.faults.points import LONG, QUICK, choose, find_seed
from tests.faults.trials import try_point

pytestmark = pytest.mark.faults
HARMLESS = ("kill", "halt", "system call", "commit")
told: Counter[str] = Counter()


def _try(stage, point):
    history = try_point(stage, point)
    run = history.runs[0]
    told[f"{point.kind}: {run.state}" if stage.struck else f"{point.kind}: not reached"] += 1

    assert [str(v) for v in find_violations(history)] == [], f"seed {find_seed()}, {point}"
    if point.kind in ("kill", "halt"):
        assert (stage.struck, run.state) == (True, "succeeded"), f"seed {find_seed()}, {point}: {run.error}"


@pytest.mark.parametrize("point", choose(QUICK), ids=str)
def test_run_survives(stage, point):
    _try(stage, point)


@pytest.mark.long
@pytest.mark.parametrize("point", choose(LONG), ids=str)
def test_run_survives_at_very_many_points(stage, point):
    _try(stage, point)


@pytest.fixture(autouse=True, scope="module")
def _told(request):
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\nfaults, seed {find_seed()}: " + ", ".join(f"{what} {n}" for what, n in sorted(told.items())))
