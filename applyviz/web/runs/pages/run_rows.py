"""Apply runs as rows of a list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun
from applyviz.web.components.badges import Appearance
from applyviz.web.components.plan_counts import count_effects
from applyviz.web.runs.pages.run_page import STATE_STYLES
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.plans.live_values import show_plans


@dataclass(frozen=True, slots=True)
class RunRow:
    """One apply run in a list."""

    number: int
    url: str
    title: str
    target: str
    style: Appearance
    started_by: str
    count: int
    at: datetime
    done: int = 0
    total: int = 0


def present_runs(runs: Iterable[ApplyRun], *, for_user: Visitor) -> tuple[RunRow, ...]:
    """Return rows of runs."""
    found = list(runs)
    show_plans((run.plan for run in found), for_user)
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
        )
        for run in found
    )
