"""Search in the fields of one plan: by path, by value, and by what happens to a field (`removed`)."""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.reviews.pages.search.field_lines import find_positions, read_lines
from applyviz.web.reviews.pages.search.row_words import name_codes
from applyviz.workflow.plans.live_values import WITHHELD


def find_by_field(plan: Plan, changes: Iterable[ObjectChange], text: str) -> frozenset[int]:
    """Return the positions of the objects of which one field has all words of a text; none while a plan is created.

    - `changes`: the rows as the reader of the plan sees them; those that are hidden from them are never found so.
    """
    words = text.casefold().split()
    if not words or plan.state != PlanState.COMPLETE:
        return frozenset()
    rows = (row for row in changes if row.operation != WITHHELD)
    return find_positions(read_lines(plan.pk, plan.digest), rows, words, name_codes())
