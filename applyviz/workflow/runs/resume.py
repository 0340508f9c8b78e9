"""Resumes lost runs: at start, and by the recovery task every few seconds."""

from __future__ import annotations

from applyviz import clock, queue
from applyviz.queue import TaskName
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.runs.lookup import find_parked, find_unfinished


def release_leases() -> None:
    """End every lease, when an installation of a single process starts: no other process can hold one."""
    now = clock.now()
    ApplyRun.objects.filter(state__in=RunState.unfinished(), lease_until__gt=now).update(lease_until=now)
    Plan.objects.filter(state=PlanState.PLANNING, lease_until__gt=now).update(lease_until=now)


def resume_unfinished_runs() -> int:
    """Enqueue every run without a worker; return their number."""
    lost = find_unfinished(now=clock.now())
    for run_id in lost:
        queue.send(TaskName.EXECUTE_RUN, run_id=run_id)
    return len(lost)


def watch_parked_runs() -> int:
    """Enqueue a look at the rollouts of every parked run that is due; return their number."""
    parked = find_parked(now=clock.now())
    for run_id in parked:
        queue.send(TaskName.WATCH_ROLLOUTS, run_id=run_id)
    return len(parked)
