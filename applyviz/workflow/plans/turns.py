"""Plans of one cluster take turns, so that a cluster that answers slowly leaves workers to the others."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from applyviz import queue
from applyviz.queue import TaskName
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan


def must_wait(plan: Plan, *, now: datetime) -> bool:
    """Return whether workers already calculate as many plans of this cluster as they may at once.

    Two workers that ask at the same time may both go on: the limit is about fairness, and nothing else rests on it.
    """
    calculating = Plan.objects.filter(
        state=PlanState.PLANNING, lease_until__gt=now, target__cluster=plan.target.cluster_id
    )
    return calculating.exclude(pk=plan.pk).count() >= settings.APPLYVIZ_CLUSTER_CONCURRENCY


def wake_next(plan: Plan) -> None:
    """Ask for a worker for the oldest plan that waits for this cluster; the sweep finds the others."""
    waiting = Plan.objects.filter(state=PlanState.PLANNING, lease_until=None, target__cluster=plan.target.cluster_id)
    following = waiting.exclude(pk=plan.pk).order_by("created_at").values_list("pk", flat=True).first()
    if following is not None:
        queue.send(TaskName.MAKE_PLAN, plan_id=following)
