"""Finding runs: for pages, and unfinished ones for workers."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Review
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import live_values

_PATIENCE = timedelta(seconds=5)


def _with_names() -> QuerySet[ApplyRun]:
    return ApplyRun.objects.select_related("plan__review__author", "plan__target__cluster", "requested_by")


_BY_NUMBER = WrittenQuery(lambda number: _with_names().filter(number=number))


def get_run(number: int, *, for_user: Visitor) -> ApplyRun:
    """Return one run by its number; raises `NotVisibleError`."""
    access.require(for_user, Action.VIEW)
    missing = NotVisibleError(f"there is no run {number}")
    found = _BY_NUMBER.find(number)
    if found is None:
        raise missing
    if not access.can(for_user, Action.VIEW, access.scopes_of(found.plan.review)):
        raise missing
    return live_values.show_run(found, for_user)


def list_runs(*, for_user: Visitor) -> QuerySet[ApplyRun]:
    """Return all visible runs, newest first."""
    access.require(for_user, Action.VIEW)
    seen = Review.objects.filter(access.select_reviews(for_user))
    return _with_names().filter(plan__review__in=seen)


def find_unfinished(*, now: datetime) -> list[int]:
    """Return runs without a worker: unclaimed for a while, or with an expired lease."""
    may_start = Q(plan__target__cluster__paused_at=None) | Q(cancel_requested_at__isnull=False)
    is_due = Q(watch_at=None) | Q(cancel_requested_at__isnull=False)
    lost = Q(is_due, state=RunState.APPLYING, lease_until__lt=now)
    lost |= Q(may_start, state=RunState.QUEUED, created_at__lt=now - _PATIENCE)
    return list(ApplyRun.objects.filter(lost).order_by("created_at").values_list("pk", flat=True))


def find_parked(*, now: datetime) -> list[int]:
    """Return runs without a worker that only wait for rollouts, and are due to be looked at."""
    due = ApplyRun.objects.filter(state=RunState.APPLYING, watch_at__lte=now, lease_until__lte=now)
    return list(due.order_by("watch_at").values_list("pk", flat=True))
