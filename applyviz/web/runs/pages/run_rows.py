"""Apply runs as rows of a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.components.plan_counts import count_effects
from applyviz.web.runs.pages.results import format_duration
from applyviz.web.runs.pages.run_page import STATE_STYLES
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.plans.live_values import show_plans
from applyviz.workflow.runs import measure_pauses


class RunRow(Struct, frozen=True):
    """One apply run in a list; `done` of `total` objects while it is not finished."""

    number: int
    url: str
    title: str
    target: str
    style: Appearance
    started_by: str
    count: int
    at: datetime
    took: str
    is_finished: bool
    done: int = 0
    total: int = 0


def present_runs(runs: Iterable[ApplyRun], *, for_user: Visitor) -> tuple[RunRow, ...]:
    """Return rows of runs."""
    found = list(runs)
    show_plans((run.plan for run in found), for_user)
    pauses = measure_pauses(found)
    return tuple(
        RunRow(
            number=run.number,
            url=reverse("runs:show-run", args=[run.number]),
            title=run.plan.review.title,
            target=run.plan.target.cluster.name,
            style=STATE_STYLES[RunState(run.state)],
            started_by=run.requested_by.get_username(),
            count=count_effects(run.plan),
            at=run.finished_at or run.started_at or run.created_at,
            took=format_duration(run.started_at, run.finished_at, pause=pauses.get(run.pk, timedelta())),
            is_finished=run.is_finished,
        )
        for run in found
    )


def add_progress(rows: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Return the rows; those of runs that are not finished with how many of their objects are done."""
    numbers = [row.number for row in rows if not row.is_finished]
    if not numbers:
        return tuple(rows)
    results = ObjectResult.objects.filter(run__number__in=numbers).order_by()
    counted = results.values_list("run__number").annotate(
        total=Count("pk"), open=Count("pk", filter=Q(outcome__in=Outcome.unfinished()))
    )
    done = {number: (total - left, total) for number, total, left in counted}
    return tuple(
        replace(row, done=done[row.number][0], total=done[row.number][1]) if row.number in done else row for row in rows
    )
