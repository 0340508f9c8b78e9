"""The list of a run: what came out for each object, before and after, its pods, its requests, how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.components.server_text import fold
from applyviz.web.runs.pages.before_after import BeforeAfter, present_before_after
from applyviz.web.runs.pages.object_states import (
    NOT_AS_APPROVED,
    OBJECT_STATE_STYLES,
    ObjectState,
    describe_pods,
    find_object_state,
    rank_by_state,
)
from applyviz.web.runs.pages.results import OUTCOME_STYLES, describe_attempts, format_duration
from applyviz.web.runs.pages.timeline import Span
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import list_rows

CALM_SHOWN, SHOWN, MOST = 10, 60, 500
_CALM = (ObjectState.VERIFIED, ObjectState.UNCHANGED, ObjectState.HIDDEN)


class ObjectRow(Struct, frozen=True):
    """One object of a run in the list."""

    position: int
    name: str
    kind: str
    namespace: str
    url: str
    style: Appearance
    detail: str
    change: BeforeAfter
    pods: str
    requests: str
    took: str


class ObjectTable(Struct, frozen=True):
    """The rows, those that need attention first; what is left out, and where all of it is."""

    rows: tuple[ObjectRow, ...]
    more: str
    more_url: str

    @property
    def has_pods(self) -> bool:
        """Whether the run watches any workload."""
        return any(row.pods for row in self.rows)


def _choose(results: Sequence[ObjectResult], *, is_whole: bool) -> list[ObjectResult]:
    ordered = sorted(results, key=rank_by_state)
    if is_whole:
        return ordered[:MOST]
    first = [result for result in ordered if find_object_state(result) not in _CALM][: SHOWN - CALM_SHOWN]
    return [*first, *[result for result in ordered if find_object_state(result) in _CALM][:CALM_SHOWN]]


def _look(result: ObjectResult) -> Appearance:
    state = find_object_state(result)
    if state in (ObjectState.FAILED, ObjectState.VERIFIED) and result.outcome not in (Outcome.VERIFIED, Outcome.FAILED):
        return OUTCOME_STYLES[result.outcome]
    if result.outcome == Outcome.LEFT_OUT:
        return OUTCOME_STYLES[result.outcome]
    return OBJECT_STATE_STYLES[state]


def _describe_detail(result: ObjectResult) -> str:
    """One sentence for what is not as it was approved."""
    if find_object_state(result) not in NOT_AS_APPROVED and result.outcome != Outcome.LEFT_OUT:
        return ""
    return (
        result.rollout_detail
        if Outcome(result.outcome).is_good and result.rollout_detail
        else fold(result.detail).sentence
    )


def _read_requests(results: Sequence[ObjectResult]) -> dict[int, list[JournalEntry]]:
    found: dict[int, list[JournalEntry]] = {}
    fields = ("result", "part", "method", "status", "state", "sent_at", "answered_at")
    entries = JournalEntry.objects.filter(result__in=[r.pk for r in results]).only(*fields)
    for entry in entries.order_by("id"):
        found.setdefault(entry.result_id, []).append(entry)
    return found


def _describe_requests(result: ObjectResult, entries: Sequence[JournalEntry]) -> str:
    """The last request of an object, and how many there were besides."""
    if not entries:
        return ""
    last = entries[-1]
    answer = " ".join(filter(None, (last.method, str(last.status or last.get_state_display()))))
    parts = [answer, format_duration(last.sent_at, last.answered_at)]
    if len(entries) > 1:
        parts.append(ngettext("%(count)d request", "%(count)d requests", len(entries)) % {"count": len(entries)})
        parts.append(describe_attempts(result, len(entries), len({entry.part for entry in entries})))
    return " · ".join(filter(None, parts))


def _format_duration(result: ObjectResult, span: Span | None) -> str:
    """From the first request until the last answer, or until the rollout ended."""
    if span is None or span[1] is None:
        return ""
    is_over = result.rollout and result.rollout != RolloutState.WAITING and result.rollout_at
    end: datetime | None = result.rollout_at if is_over else None if result.rollout else span[1]
    return format_duration(span[0], end)


def present_table(
    run: ApplyRun, results: Sequence[ObjectResult], spans: Mapping[int, Span], *, is_whole: bool = False
) -> ObjectTable:
    """Return the list of a run; `results` are as the reader may see them, `spans` without hidden objects.

    - Documents and journals are read for the rows that are shown, whatever the size of the run.
    """
    shown = _choose(results, is_whole=is_whole)
    found = list_rows(run.plan, Q(pk__in=[r.change_id for r in shown]), with_documents=True)
    documents = {row.pk: row for row in found}
    has_one_namespace = len({result.change.namespace for result in shown if result.change.namespace}) < 2
    visible = [result for result in shown if find_object_state(result) is not ObjectState.HIDDEN]
    requests = _read_requests(visible)
    rows = []
    for result in shown:
        change = result.change
        rows.append(
            ObjectRow(
                position=result.position,
                name=change.name,
                kind=change.kind,
                namespace="" if has_one_namespace else change.namespace,
                url=reverse("runs:show-result", args=[run.number, result.position]),
                style=_look(result),
                detail=_describe_detail(result),
                change=present_before_after(read_masked(documents[result.change_id])),
                pods=describe_pods(result),
                requests=_describe_requests(result, requests.get(result.pk, [])),
                took=_format_duration(result, spans.get(result.pk)),
            )
        )
    left = len(results) - len(shown)
    more = ngettext("%(n)d more object", "%(n)d more objects", left) % {"n": left} if left else ""
    return ObjectTable(tuple(rows), more, f"{reverse('runs:show-run', args=[run.number])}?rows=all#objects")
