"""What was lost is picked up: at start, and by the sweep every few seconds."""

from __future__ import annotations

from applyviz import queue
from applyviz.queue import TaskName
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.foundation import clock
from applyviz.workflow.runs.lookup import find_unfinished


def release_leases() -> None:
    """End every lease; only for an installation of one process, when it starts: nobody else can hold one."""
    now = clock.now()
    ApplyRun.objects.filter(state__in=RunState.unfinished(), lease_until__gt=now).update(lease_until=now)
    Plan.objects.filter(state=PlanState.PLANNING, lease_until__gt=now).update(lease_until=now)


def resume_unfinished_runs() -> int:
    """Ask for a worker for every run that has none; gives their number."""
    lost = find_unfinished(now=clock.now())
    for run_id in lost:
        queue.send(TaskName.EXECUTE_RUN, run_id=run_id)
    return len(lost)
