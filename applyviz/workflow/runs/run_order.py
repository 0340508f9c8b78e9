"""The order of runs: runs that change the same objects run one after the other, in the order of their start.

So overlapping plans do not interleave. Safety does not depend on it: a change by another run makes a run stale, as any
other outside change does.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from applyviz.queue import TaskName
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import outbox

# The recovery task finds the rest.
_MOST_WOKEN = 16


def _select_overlapping(run: int, plan: int, cluster_uid: str) -> QuerySet[ApplyRun]:
    """Return other unfinished runs of the same cluster that change an object of this run, in their order."""
    same = {name: OuterRef(name) for name in ("group", "kind", "namespace", "name")}
    mine = ObjectChange.objects.filter(plan=plan, has_effect=True, **same)
    shared = ObjectChange.objects.filter(Exists(mine), plan=OuterRef("plan"), has_effect=True)
    others = ApplyRun.objects.filter(state__in=RunState.unfinished(), plan__cluster_uid=cluster_uid)
    return others.exclude(pk=run).filter(Exists(shared)).order_by("number")


def _select_waiting(run: int, plan: int, cluster_uid: str, number: int) -> QuerySet[ApplyRun, int]:
    rows = _select_overlapping(run, plan, cluster_uid).filter(number__gt=number, state=RunState.QUEUED)
    return rows.values_list("pk", flat=True)[:_MOST_WOKEN]


_OTHER = WrittenQuery(lambda run, plan, uid: _select_overlapping(run, plan, uid)[:1])
_BEFORE = WrittenQuery(lambda run, plan, uid, number: _select_overlapping(run, plan, uid).filter(number__lt=number)[:1])
_WAITING = WrittenQuery(_select_waiting)


def find_run_before(run: ApplyRun) -> ApplyRun | None:
    """Return the first unfinished earlier run that changes an object of this one; None: go on.

    - A canceled run waits for no other run: it ends as soon as a worker claims it.
    """
    if run.cancel_requested_at is not None or run.is_finished:
        return None
    return _BEFORE.find(run.pk, run.plan_id, run.plan.cluster_uid, run.number)


def find_overlapping(run: ApplyRun) -> ApplyRun | None:
    """Return any other unfinished run that changes an object of this one; None without any."""
    return _OTHER.find(run.pk, run.plan_id, run.plan.cluster_uid)


def has_turn(run: ApplyRun, *, now: datetime) -> bool:
    """Return whether workers execute fewer runs of this cluster than the limit.

    A cluster that answers slowly leaves workers to the others. Two workers that ask at the same time may both go on:
    the limit is about fairness, and no safety rests on it. Of the runs that began, only one that was parked waits.
    """
    same = ApplyRun.objects.filter(state=RunState.APPLYING, lease_until__gt=now, plan__cluster_uid=run.plan.cluster_uid)
    may_wait = run.state == RunState.QUEUED or run.watch_at is not None
    return not may_wait or same.count() < settings.APPLYVIZ_CLUSTER_CONCURRENCY


def wake_next(run: ApplyRun) -> None:
    """Enqueue the runs that wait for a run which ends in the surrounding transaction."""
    woken = _WAITING.ask(run.pk, run.plan_id, run.plan.cluster_uid, run.number)
    same_cluster = ApplyRun.objects.filter(state=RunState.QUEUED, plan__cluster_uid=run.plan.cluster_uid)
    woken += same_cluster.exclude(pk__in=woken).order_by("number").values_list("pk", flat=True)[:1]
    for following in woken:
        outbox.post(TaskName.EXECUTE_RUN, run_id=following)
