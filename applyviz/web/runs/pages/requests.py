"""Every request of a run in the order it was sent, a page of them at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Paginator
from django.urls import reverse

from applyviz.records.models import ApplyRun, JournalEntry
from applyviz.web.runs.pages.results import say_took
from applyviz.web.runs.pages.run_page import RunPage, present_run
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import view_of

SHOWN = 100


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request of the journal."""

    sent_at: datetime
    kind: str
    name: str
    method: str
    path: str
    status: int
    state: str
    tone: str
    took: str
    note: str
    url: str


@dataclass(frozen=True, slots=True)
class RequestsPage:
    """The rows of one page, and the addresses of those before and after it."""

    run: RunPage
    rows: tuple[RequestRow, ...]
    previous_url: str
    next_url: str


def _tone(entry: JournalEntry) -> str:
    if not entry.status:
        return "warn"
    return "add" if entry.status < 300 else "calm" if entry.status == 404 else "remove"


def present_requests(run: ApplyRun, *, for_user: Person, page: int) -> RequestsPage:
    """Return one page of them; requests about objects that are hidden from the reader are left out."""
    shown = present_run(run, for_user=for_user)
    view = view_of(run.plan)
    results = run.results.select_related("change").defer("change__document", "change__sealed")
    hidden = [result.pk for result in results if view.hides(result.change)]
    entries = JournalEntry.objects.filter(result__run=run).exclude(result__in=hidden).order_by("id")
    entries = entries.select_related("result__change").defer(
        "request", "answer", "sealed_request", "sealed_answer", "result__change__document", "result__change__sealed"
    )
    found = Paginator(entries, SHOWN).get_page(page)
    here = reverse("runs:list-requests", args=[run.number])
    return RequestsPage(
        shown,
        tuple(
            RequestRow(
                sent_at=entry.sent_at,
                kind=entry.result.change.kind,
                name=entry.result.change.name,
                method=entry.method,
                path=entry.path,
                status=entry.status,
                state=entry.get_state_display(),
                tone=_tone(entry),
                took=say_took(entry.sent_at, entry.answered_at),
                note=entry.note,
                url=reverse("runs:show-result", args=[run.number, entry.result.position]),
            )
            for entry in found
        ),
        f"{here}?page={found.previous_page_number()}" if found.has_previous() else "",
        f"{here}?page={found.next_page_number()}" if found.has_next() else "",
    )
