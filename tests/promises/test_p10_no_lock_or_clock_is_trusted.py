"""P10: safety never rests on a lock or a clock; locks only save work.

Threat H4 (a frozen worker that wakes up after its lease). With real processes and SIGSTOP: the lane `faults`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from tests.promises.conftest import Scene
from tests.stories import let_lease_run_out

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
POINTS = ("run.claimed", "run.prepared", "run.checked", "run.object", "run.intended", "run.answered", "run.concluded")


def _once_at(point: str, act: Callable[[], object]) -> None:
    def hook(name: str) -> None:
        if name == point:
            failpoints.hooks.clear()
            act()

    failpoints.hooks[:] = [hook]


@pytest.mark.core(2)
@pytest.mark.parametrize("point", POINTS)
def test_worker_that_wakes_up_late_changes_nothing(scene: Scene, point):
    """While the first stands at the point, its lease runs out and a second carries the whole run out."""
    run = scene.start(scene.change())

    def second() -> None:
        let_lease_run_out(run)
        runs.execute_run(run.pk, sleep=lambda seconds: None)

    _once_at(point, second)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, told.epoch, scene.effective) == ("applied", 2, 2)


@pytest.mark.core(2)
@pytest.mark.parametrize("point", POINTS)
def test_lease_that_everybody_believes_to_have_does_no_harm(scene: Scene, point):
    """No lease holds anybody off at all: eight workers, each at the point of the one before."""
    run, depth = scene.start(scene.change()), []

    def another() -> None:
        depth.append(1)
        let_lease_run_out(run)
        if len(depth) < 8:
            _once_at(point, another)
        runs.execute_run(run.pk, sleep=lambda seconds: None)

    _once_at(point, another)
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.effective) == ("applied", 2)


@pytest.mark.core(2)
@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
@pytest.mark.parametrize("point", ["run.checked", "run.intended", "run.answered"])
def test_clock_that_jumps_does_no_harm(scene: Scene, point, hours):
    run = scene.start(scene.change())
    with time_machine.travel(timezone.now(), tick=True) as clock:
        _once_at(point, lambda: clock.shift(timedelta(hours=hours)))
        runs.execute_run(run.pk, sleep=lambda seconds: None)
        clock.shift(timedelta(hours=-hours))
        ApplyRun.objects.filter(pk=run.pk, state="applying").update(lease_until=timezone.now() - timedelta(seconds=1))
        scene.work(run)

    assert (run.state, scene.effective, len(scene.writes)) == ("applied", 2, 2)
