"""Hosts that are not like the others, for the forge: another clock, an older version, a disk that takes nothing."""

from __future__ import annotations

import logging
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import time_machine
from django.db import connection, transaction
from django.utils import timezone

from applyviz import clock
from applyviz.engine.planning.digest.serialize import FORMAT
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow import runs
from applyviz.workflow.plans import planner


@contextmanager
def at_another_time(hours: float) -> Iterator[None]:
    """The clock of this process is ahead by so many hours, and goes on."""
    if not hours:
        yield
        return
    with time_machine.travel(timezone.now() + timedelta(hours=hours), tick=True):
        yield


def find_waiting(*, hours: float = 0.0) -> list[int]:
    """The runs that a sweep finds on a host with such a clock."""
    with at_another_time(hours):
        return runs.find_unfinished(now=clock.now())


def find_waiting_in(*, run_id: int, seconds: float) -> bool:
    """Whether sweeps find a run within so many seconds."""
    until = time.monotonic() + seconds
    while run_id not in find_waiting():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def read_lease(*, run_id: int) -> float:
    """How many seconds are left of the lease of a run."""
    until = ApplyRun.objects.get(pk=run_id).lease_until
    assert until is not None
    return (until - clock.now()).total_seconds()


def make_newer(*, what: str, run_id: int = 0, plan_id: int = 0, is_undone: bool = False) -> None:
    """Let a run or a plan be as a newer version would have stored it, past the triggers; or undo it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        if what == "rule":
            run = ApplyRun.objects.get(pk=run_id)
            known = {name: value for name, value in run.rules.items() if name != "seconds_between"}
            rules = known if is_undone else {**known, "seconds_between": 5}
            ApplyRun.objects.filter(pk=run_id).update(rules=rules)
            return
        plan = Plan.objects.get(pk=plan_id) if plan_id else ApplyRun.objects.get(pk=run_id).plan
        options = {**plan.options, "format": FORMAT if is_undone else FORMAT + 1}
        Plan.objects.filter(pk=plan.pk).update(options=options)


def is_planned(*, plan_id: int) -> bool:
    """Whether a plan is made."""
    return Plan.objects.get(pk=plan_id).state != "planning"


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is said."""
        self.lines.append(record.getMessage())


@contextmanager
def _listening() -> Iterator[list[str]]:
    listener, logger = _Listener(), logging.getLogger("applyviz")
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.WARNING)
    try:
        yield listener.lines
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)


def work_and_listen(*, run_id: int) -> list[str]:
    """A worker picks a run up; what it says in its log."""
    with _listening() as lines:
        runs.execute_run(run_id)
    return lines


def plan_and_listen(*, plan_id: int) -> list[str]:
    """A worker picks a plan up; what it says in its log."""
    with _listening() as lines:
        planner.make_plan(plan_id)
    return lines


def lose_the_disk() -> None:
    """From now on no file of this process can be written to, and its folder for passing files is not there."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    tempfile.tempdir = "/proc/no-such-folder"
