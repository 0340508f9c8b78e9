"""A run survives what is done to it at any point: the history holds no violation, and everything ends.

Which points, a seed of the day says (`APPLYVIZ_FAULT_SEED`); `--long` tries very many.
"""

from __future__ import annotations

import pytest

from tests.faults.checker import find_violations
from tests.faults.kill_trials import try_point
from tests.faults.points import LONG, QUICK, choose, find_seed
from tests.faults.reporting import MISSED, STRUCK

pytestmark = pytest.mark.faults


def _try(stage, point, record_property):
    history = try_point(stage, point)
    run = history.runs[0]
    record_property(STRUCK if stage.struck else MISSED, f"{point.kind}/{point}")

    assert [str(v) for v in find_violations(history)] == [], f"seed {find_seed()}, {point}"
    if point.kind in ("kill", "halt"):
        assert (stage.struck, run.state) == (True, "applied"), f"seed {find_seed()}, {point}: {run.error}"


@pytest.mark.core(10)
@pytest.mark.parametrize("point", choose(QUICK), ids=str)
def test_run_survives(stage, point, record_property):
    _try(stage, point, record_property)


@pytest.mark.long
@pytest.mark.parametrize("point", choose(LONG), ids=str)
def test_run_survives_at_very_many_points(stage, point, record_property):
    _try(stage, point, record_property)
