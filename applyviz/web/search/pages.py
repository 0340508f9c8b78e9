"""Read model of a search: reviews, runs, objects, fields and people, each limited to what the reader may see.

A hit that is hidden and one that does not exist give the same page: every query starts from the reviews and entries
that the reader may see. Names of objects and people are found by their beginning, which an index serves; titles and
tickets by any part of them.
"""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, AuditEntry, ObjectChange, Review
from applyviz.web.components.badges import Appearance
from applyviz.web.components.list_filters import match_title, read_number
from applyviz.web.components.object_links import link_object
from applyviz.web.reviews.pages.search.in_reviews import FieldHit, find_fields
from applyviz.web.runs.pages.run_list import match_run
from applyviz.web.runs.pages.run_page import STATE_STYLES
from applyviz.workflow import runs
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

SHOWN = 10
_SHORTEST, _SHORTEST_FIELD = 2, 3
# The end of a range of names: none that Kubernetes allows begins with the prefix and comes later, in any collation.
_LAST = "z" * 20


class ReviewHit(Struct, frozen=True):
    """One review."""

    number: int
    title: str
    ticket: str
    author: str
    url: str
    at: datetime


class RunHit(Struct, frozen=True):
    """One apply run."""

    number: int
    title: str
    target: str
    style: Appearance
    url: str
    at: datetime


class ObjectHit(Struct, frozen=True):
    """One object that a review plans or planned to change."""

    kind: str
    namespace: str
    name: str
    cluster: str
    url: str


class SearchPage(Struct, frozen=True):
    """Everything that was found, at most so many of each sort."""

    text: str
    reviews: tuple[ReviewHit, ...] = ()
    runs: tuple[RunHit, ...] = ()
    objects: tuple[ObjectHit, ...] = ()
    fields: tuple[FieldHit, ...] = ()
    people: tuple[tuple[str, str], ...] = ()

    @property
    def history_query(self) -> str:
        """The query of the history that finds what runs wrote."""
        return urlencode({"text": self.text})

    @property
    def count(self) -> int:
        """The number of hits on the page."""
        return len(self.reviews) + len(self.runs) + len(self.objects) + len(self.fields) + len(self.people)


def _find_reviews(seen: QuerySet[Review], text: str) -> tuple[ReviewHit, ...]:
    asked = match_title(text)
    number = read_number(text)
    if number is not None:
        asked |= Q(number=number)
    found = list(seen.filter(asked).select_related("author").order_by("-updated_at")[:SHOWN])
    found.sort(key=lambda review: review.number != number)
    return tuple(
        ReviewHit(
            review.number,
            review.title,
            review.ticket,
            review.author.get_username(),
            reverse("reviews:show-review", args=[review.number]),
            review.updated_at,
        )
        for review in found
    )


def _find_runs(person: Person, text: str) -> tuple[RunHit, ...]:
    found: QuerySet[ApplyRun] = runs.list_runs(for_user=person).filter(match_run(text))
    return tuple(
        RunHit(
            run.number,
            run.plan.review.title,
            run.plan.target.cluster.name,
            STATE_STYLES[RunState(run.state)],
            reverse("runs:show-run", args=[run.number]),
            run.finished_at or run.started_at or run.created_at,
        )
        for run in found[:SHOWN]
    )


def _find_objects(seen: QuerySet[Review], text: str) -> tuple[ObjectHit, ...]:
    kind, slash, name = text.rpartition("/")
    name = name.lower()
    if len(name) < _SHORTEST and not (slash and kind):
        return ()
    asked = Q(name__gte=name, name__lte=name + _LAST) if name else Q()
    if slash:
        asked &= Q(kind__iexact=kind)
    rows = ObjectChange.objects.filter(asked, plan__review__in=seen.values("pk")).order_by()
    columns = ("name", "kind", "group", "namespace", "plan__target__cluster__slug", "plan__target__cluster__name")
    found = {row for row in rows.values_list(*columns).distinct()[: 10 * SHOWN] if row[0].startswith(name)}
    return tuple(
        ObjectHit(kind, namespace, name, cluster, link_object(slug, group, kind, namespace, name))
        for name, kind, group, namespace, slug, cluster in sorted(found)[:SHOWN]
    )


def _find_people(person: Person, text: str) -> tuple[tuple[str, str], ...]:
    """Accounts that did something which the reader may see; others are no hits, whether they exist or not."""
    entries = access.visible_entries(AuditEntry.objects.filter(actor_name=OuterRef("username")), person)
    found = User.objects.filter(Exists(entries), username__istartswith=text).order_by("username")
    names = found.values_list("username", flat=True)[:SHOWN]
    return tuple((name, reverse("history:show-person", args=[name])) for name in names)


def present_search(person: Person, text: str) -> SearchPage:
    """Return what the reader may see of everything that matches a text; nothing for less than two characters.

    - A number is one whatever its length.
    """
    access.require(person, Action.VIEW)
    if len(text) < _SHORTEST and read_number(text) is None:
        return SearchPage(text)
    seen = Review.objects.filter(access.select_reviews(person))
    return SearchPage(
        text,
        reviews=_find_reviews(seen, text),
        runs=_find_runs(person, text),
        objects=_find_objects(seen, text),
        fields=find_fields(text, most=SHOWN, for_user=person) if len(text) >= _SHORTEST_FIELD else (),
        people=_find_people(person, text),
    )
