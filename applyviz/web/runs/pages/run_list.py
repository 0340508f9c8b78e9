"""The list of runs, newest first, filtered and in pages: every run that its reader may see."""

from __future__ import annotations

import re

from django.db.models import Q
from django.db.models.functions import Coalesce
from msgspec import Struct

from applyviz.web.components.list_filters import ListFilter, match_title, read_number
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.web.runs.pages.run_rows import RunRow, add_progress, present_runs
from applyviz.workflow import runs
from applyviz.workflow.foundation.access import Person

_RUN = re.compile(r"run\s*#?\s*([0-9]{1,9})", re.IGNORECASE)


class RunList(Struct, frozen=True):
    """One page of runs; `is_moving` while one of them is not finished."""

    page: ListPage[RunRow]
    is_moving: bool


def match_run(text: str) -> Q:
    """Return the condition that a run is meant: `run 3`, its number or that of its review, or words of its title."""
    if not text:
        return Q()
    if named := _RUN.fullmatch(text):
        return Q(number=int(named[1]))
    asked = match_title(text, "plan__review__")
    number = read_number(text)
    return asked if number is None else asked | Q(number=number) | Q(plan__review__number=number)


def present_run_list(chosen: ListFilter, *, page: int, for_user: Person) -> RunList:
    """Return one page of the runs that match; the moment of a run is its end, else its start, else its request."""
    found = runs.list_runs(for_user=for_user).filter(
        match_run(chosen.text), chosen.match_scopes("plan__review"), chosen.match_person("requested_by__username")
    )
    if chosen.state:
        found = found.filter(state=chosen.state)
    if chosen.since or chosen.until:
        found = found.alias(at=Coalesce("finished_at", "started_at", "created_at")).filter(chosen.match_days("at"))
    cut = cut_page(found, page)
    rows = add_progress(present_runs(cut.object_list, for_user=for_user))
    return RunList(ListPage.of(cut, rows, chosen.query), not all(row.is_finished for row in rows))
