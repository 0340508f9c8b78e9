"""Every request of a run in the order it was sent, a page of them at a time."""

from __future__ import annotations

from itertools import pairwise

from django.core.paginator import Paginator
from django.urls import reverse
from msgspec import Struct

from applyviz.records.models import ApplyRun, JournalEntry
from applyviz.web.runs.pages.reads import ReadLine, choose_tone, present_reads, present_shared_reads
from applyviz.web.runs.pages.results import format_duration
from applyviz.web.runs.pages.run_page import RunPage, present_run
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import list_hidden_results

SHOWN = 100


class JournalRow(Struct, frozen=True):
    """One request of the journal; `url` leads to its object."""

    entry: JournalEntry
    tone: str
    took: str
    url: str
    reads: tuple[ReadLine, ...]


class RequestsPage(Struct, frozen=True):
    """The rows of one page, and the addresses of those before and after it.

    - `shared`: the reads before the first object, on the first page.
    """

    run: RunPage
    rows: tuple[JournalRow, ...]
    previous_url: str
    next_url: str
    shared: tuple[ReadLine, ...] = ()


def _find_earlier(entries: list[JournalEntry]) -> dict[int, JournalEntry]:
    """Return the request before each one of the same object, by the key of the later one."""
    results = {entry.result_id for entry in entries}
    every = JournalEntry.objects.filter(result__in=results).order_by("result_id", "sequence")
    found = list(every.only("id", "result_id", "sequence", "method", "status"))
    return {later.pk: before for before, later in pairwise(found) if before.result_id == later.result_id}


def present_requests(run: ApplyRun, *, for_user: Person, page: int) -> RequestsPage:
    """Return one page of them; requests about objects that are hidden from the reader are left out."""
    shown = present_run(run, for_user=for_user, has_body=False)
    entries = JournalEntry.objects.filter(result__run=run).exclude(result__in=list_hidden_results(run)).order_by("id")
    entries = entries.select_related("result__change").defer(
        "request",
        "answer",
        "sealed_request",
        "sealed_answer",
        "result__change__document",
        "result__change__found_risks",
        "result__change__sealed",
    )
    found = Paginator(entries, SHOWN).get_page(page)
    here = reverse("runs:list-requests", args=[run.number])
    earlier = _find_earlier(list(found))
    return RequestsPage(
        shown,
        tuple(
            JournalRow(
                entry,
                tone=choose_tone(entry.status),
                took=format_duration(entry.sent_at, entry.answered_at),
                url=reverse("runs:show-result", args=[run.number, entry.result.position]),
                reads=present_reads(entry.reads, earlier.get(entry.pk)),
            )
            for entry in found
        ),
        f"{here}?page={found.previous_page_number()}" if found.has_previous() else "",
        f"{here}?page={found.next_page_number()}" if found.has_next() else "",
        () if found.has_previous() else present_shared_reads(run),
    )
