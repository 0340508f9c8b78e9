"""Search in the fields of the newest plans: of open reviews, among a limited number of objects.

Cost is linear in the stored text of `MOST_OBJECTS` objects: the database finds rows whose document has the words at
all, and only the first `MOST_READ` of them are read. Secrets that are compared with live are never found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.badges import Appearance
from applyviz.web.reviews.pages.search.field_lines import FieldLine, begins_words, list_lines
from applyviz.web.reviews.pages.search.row_words import KEPT, name_codes
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.compared import COMPARED
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.changes import read_masked

MOST_PLANS, MOST_OBJECTS, MOST_READ = 100, 2_000, 40
# What a word has in common with the stored text: a path is stored in parts, and other characters may be escaped.
_PART = re.compile(r"[A-Za-z0-9_-]{2,}")


class FieldHit(Struct, frozen=True):
    """One field of a plan of an open review; values are masked.

    - `is_kept`: it stays, so that both values are one.
    """

    kind: str
    namespace: str
    name: str
    path: str
    style: Appearance
    before: str
    after: str
    review: int
    plan: int
    url: str
    is_kept: bool


def _choose_plans(person: Person) -> list[Plan]:
    """Return the newest complete plan of the newest open reviews, with at most `MOST_OBJECTS` objects in total."""
    seen = reviews.list_reviews(for_user=person).filter(state=ReviewState.OPEN).order_by()
    found = Plan.objects.filter(review__in=seen.values("pk"), state=PlanState.COMPLETE).order_by("-pk")
    newest: dict[int, Plan] = {}
    for plan in found.select_related("review").only("number", "counts", "review__number")[:MOST_PLANS]:
        newest.setdefault(plan.review_id, plan)
    chosen: list[Plan] = []
    objects = 0
    for plan in newest.values():
        objects += sum(plan.counts.values())
        if objects > MOST_OBJECTS and chosen:
            break
        chosen.append(plan)
    return chosen


def _find_rows(plans: Sequence[Plan], words: Sequence[str]) -> QuerySet[ObjectChange]:
    """Return rows that may have a field with all words, those of the newest plans first."""
    named, asked = name_codes(), Q()
    for word in words:
        has_word = Q()
        for part in _PART.findall(word):
            has_word &= Q(text__icontains=part)
        for code in named.get(word, ()):
            has_word |= Q(text__contains=f'"{code}"')
        asked &= has_word
    rows = ObjectChange.objects.filter(plan__in=[plan.pk for plan in plans]).exclude(COMPARED).defer("sealed")
    return rows.alias(text=Cast("document", TextField())).filter(asked).order_by("-plan_id", "position")


def _find_line(row: ObjectChange, words: Sequence[str]) -> FieldLine | None:
    named, names = f"{row.kind} {row.namespace} {row.name}".casefold(), name_codes()
    left = [word for word in words if word not in named]
    lines: Iterator[FieldLine] = list_lines(read_masked(row)) if left else iter(())
    return next((line for line in lines if begins_words(line.text, line.codes, left, names)), None)


def find_fields(text: str, *, most: int, for_user: Person) -> tuple[FieldHit, ...]:
    """Return the first field in which all words begin a word, of at most `most` objects that a person may see.

    - Words of the object's name narrow the search; they alone find no field.
    """
    words = text.casefold().split()
    plans = {plan.pk: plan for plan in _choose_plans(for_user)}
    hits: list[FieldHit] = []
    for row in _find_rows(list(plans.values()), words)[:MOST_READ] if plans and words else ():
        if (line := _find_line(row, words)) is None:
            continue
        plan = plans[row.plan_id]
        query = urlencode({"q": text, "at": row.position})
        changes = reverse("reviews:show-changes", args=[plan.review.number, plan.number])
        what = (row.kind, row.namespace, row.name, line.path, line.style, line.before, line.after)
        url = f"{changes}?{query}#object-{row.position}"
        hits.append(FieldHit(*what, plan.review.number, plan.number, url, KEPT in line.codes))
        if len(hits) == most:
            break
    return tuple(hits)
