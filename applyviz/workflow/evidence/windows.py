"""Runs that started or continued outside the change window of their policy, by the policy versions at their start.

Rule: the strictest version of all policies in force within the scopes of a plan applies. The version in force at a
moment is the newest one before it, of a policy that was not archived yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q
from msgspec import Struct

from applyviz.records.models import ApplyRun, Plan, PolicyVersion, Review
from applyviz.workflow import policies
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.blockers import PlanBlocker
from applyviz.workflow.foundation.paging import by_number
from applyviz.workflow.foundation.scopes import holds_at
from applyviz.workflow.policies.rules import PolicyRules, find_strictest, rules_from_json
from applyviz.workflow.policies.windows import find_closed


class LateRun(Struct, frozen=True):
    """A run that worked outside its window; `closed` holds the reasons at the moment `at`."""

    run: ApplyRun
    at: datetime
    is_start: bool
    closed: tuple[PlanBlocker, ...]


class _PolicyHistory:
    """All policy versions ever, read once."""

    def __init__(self) -> None:
        self._rows = list(PolicyVersion.objects.select_related("policy").order_by("created_at", "number"))

    def find(self, plan: Plan, at: datetime) -> PolicyRules | None:
        """Return the policy of a plan at a moment; None when none applied."""
        newest: dict[int, PolicyVersion] = {}
        for row in self._rows:
            if row.created_at <= at and not (row.policy.archived_at and row.policy.archived_at <= at):
                newest[row.policy_id] = row
        scopes = policies.list_scopes(plan) if newest else ()
        found = [
            (row.policy.slug, row.number, rules_from_json(row.rules))
            for row in newest.values()
            if any(holds_at(row, scope) for scope in scopes)
        ]
        return find_strictest(found) if found else None


def _check(run: ApplyRun, versions: _PolicyHistory) -> LateRun | None:
    policy = versions.find(run.plan, run.created_at)
    if policy is None or not (policy.windows or policy.freezes):
        return None
    for at, is_start in ((run.started_at or run.created_at, True), (run.finished_at, False)):
        closed = find_closed(policy.windows, policy.freezes, at) if at else ()
        if at and closed:
            return LateRun(run, at, is_start, closed)
    return None


def find_late(start: datetime, end: datetime, *, cluster: str, for_user: Visitor) -> Iterator[LateRun]:
    """Yield the runs of a period that worked outside their windows, oldest first."""
    versions = _PolicyHistory()
    seen = Review.objects.filter(access.select_reviews(for_user))
    runs = ApplyRun.objects.filter(Q(created_at__gte=start, created_at__lt=end), plan__review__in=seen)
    if cluster:
        runs = runs.filter(plan__target__cluster__slug=cluster)
    runs = runs.select_related("plan__review", "plan__target__cluster", "requested_by")
    for run in by_number(runs):
        late = _check(run, versions)
        if late is not None:
            yield late
