"""All objects of a run at one glance: what came out, what its rollout does, when it was sent, how often, how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min
from django.urls import reverse
from django.utils.translation import ngettext

from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.runs.pages.results import OUTCOME_STYLES, ROLLOUT_STYLES, say_attempts, say_difference, say_took
from applyviz.workflow.plans.live_values import view_of

SHOWN, DIFFERENCES = 200, 3
BAD = (Outcome.FAILED, Outcome.STALE, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.DIFFERS, Outcome.LEFT_OUT)
NOT_READY = (RolloutState.FAILED, RolloutState.LATE)


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """One object of a run in the table."""

    position: int
    name: str
    kind: str
    namespace: str
    url: str
    look: Appearance
    detail: str
    differences: tuple[tuple[str, str], ...]
    rollout: Appearance | None
    rollout_detail: str
    requests: str
    sent_at: datetime | None
    took: str


@dataclass(frozen=True, slots=True)
class ObjectTable:
    """The rows, those that need attention first, and how many more there are."""

    rows: tuple[ObjectRow, ...]
    more: int

    @property
    def has_rollouts(self) -> bool:
        """Whether the run waits for anything."""
        return any(row.rollout is not None for row in self.rows)


def needs_attention(result: ObjectResult) -> bool:
    """Whether an object, or what it brings about, is not as it should be."""
    return result.outcome in BAD or result.rollout in NOT_READY


def _say_requests(sent: int, parts: int) -> str:
    if not sent:
        return ""
    text = ngettext("%(count)d request", "%(count)d requests", sent) % {"count": sent}
    return ", ".join(filter(None, (text, say_attempts(sent, parts))))


def present_table(run: ApplyRun, results: Sequence[ObjectResult]) -> ObjectTable:
    """The table of a run; asks the database once for all journals."""
    counted = JournalEntry.objects.filter(result__run=run).order_by().values("result")
    journals = {
        row["result"]: (row["sent"], row["parts"], row["first"])
        for row in counted.annotate(sent=Count("pk"), parts=Count("part", distinct=True), first=Min("sent_at"))
    }
    ordered = sorted(results, key=lambda r: (not needs_attention(r), r.step, r.position))
    rows = []
    for result in ordered[:SHOWN]:
        is_hidden = view_of(run.plan).hides(result.change)
        sent, parts, first = (0, 0, None) if is_hidden else journals.get(result.pk, (0, 0, None))
        change = result.change
        rows.append(
            ObjectRow(
                position=result.position,
                name=change.name,
                kind=change.kind,
                namespace=change.namespace,
                url=reverse("runs:show-result", args=[run.number, result.position]),
                look=OUTCOME_STYLES[result.outcome],
                detail=result.detail,
                differences=tuple(
                    (str(d.get("path", "")), say_difference(d)) for d in result.differences[:DIFFERENCES]
                ),
                rollout=ROLLOUT_STYLES[RolloutState(result.rollout)] if result.rollout else None,
                rollout_detail=result.rollout_detail,
                requests=_say_requests(sent, parts),
                sent_at=first,
                took=say_took(result.started_at, result.finished_at),
            )
        )
    return ObjectTable(tuple(rows), max(0, len(ordered) - SHOWN))
