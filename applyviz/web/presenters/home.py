"""Home: what waits for this person, what is being applied, what drifted, what ran last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.plan import Operation
from applyviz.records.enums import PlanState, ReviewState, RunState
from applyviz.records.models import ApplyRun, Plan, Review
from applyviz.web.presenters.decks import count_effects
from applyviz.web.presenters.findings import DriftRow, present_drifted
from applyviz.web.presenters.lists import ReviewRow, present_review, with_latest_plan
from applyviz.web.presenters.operations import OBJECT_LOOKS, Look
from applyviz.web.presenters.plans import Notice
from applyviz.web.presenters.runs import STATE_LOOKS
from applyviz.workflow import access, breakglass, clock, quorum, reviews, runs
from applyviz.workflow.access import Action, Person

OPEN_SHOWN = 50
LAST_SHOWN = 8
GLASS_SHOWN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A review with what this person can do about it."""

    review: ReviewRow
    what: str | Promise
    is_yours: bool


@dataclass(frozen=True, slots=True)
class RunRow:
    """One apply run in a list."""

    number: int
    url: str
    title: str
    target: str
    look: Look
    started_by: str
    count: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Home:
    """Everything that the page prints."""

    glass: tuple[Notice, ...]
    waiting: tuple[Waiting, ...]
    others: tuple[Waiting, ...]
    running: tuple[RunRow, ...]
    last: tuple[RunRow, ...]
    drifted: tuple[DriftRow, ...]
    can_write: bool
    is_moving: bool


def _name_blocker(plan: Plan) -> str:
    refused, broken = plan.counts.get(Operation.REFUSED, 0), plan.counts.get(Operation.ERROR, 0)
    if plan.state == PlanState.FAILED:
        return _("the plan could not be made")
    if refused:
        return ngettext("%(n)d object has conflicts", "%(n)d objects have conflicts", refused) % {"n": refused}
    if broken or plan.problems:
        return _("some objects could not be planned")
    return "" if count_effects(plan) else _("there is nothing to apply")


def _what_waits(review: Review, plan: Plan, person: Person, *, can_approve: bool, is_agreed: bool) -> tuple[str, bool]:
    is_author = person.pk in (review.author_id, plan.requested_by_id)
    if plan.state == PlanState.PLANNING:
        return _("the plan is being calculated"), False
    blocker = _name_blocker(plan)
    if blocker:
        return blocker, is_author
    if is_agreed:
        return _("approved, waits to be applied"), can_approve
    is_yours = can_approve and not is_author
    return (_("waits for your approval") if is_yours else _("waits for approval")), is_yours


def _present_waiting(person: Person) -> tuple[list[Waiting], list[Waiting]]:
    mine: list[Waiting] = []
    others: list[Waiting] = []
    can_approve = access.can(person, Action.APPROVE)
    open_ones = reviews.list_reviews(for_user=person).prefetch_related(None).filter(state=ReviewState.OPEN)
    # `newest` is filled by the prefetch.
    found = [(review, review.newest) for review in with_latest_plan(open_ones)[:OPEN_SHOWN]]  # type: ignore[attr-defined]
    agreed = quorum.find_agreed(plan for _, newest in found for plan in newest)
    for review, newest in found:
        if newest:
            is_agreed = newest[0].pk in agreed
            what, is_yours = _what_waits(review, newest[0], person, can_approve=can_approve, is_agreed=is_agreed)
            (mine if is_yours else others).append(Waiting(present_review(review), what, is_yours))
    return mine, others


def present_runs(found: Iterable[ApplyRun]) -> tuple[RunRow, ...]:
    """Rows of runs."""
    return tuple(
        RunRow(
            number=run.number,
            url=reverse("runs:show-run", args=[run.number]),
            title=run.plan.review.title,
            target=run.plan.target.cluster.name,
            look=STATE_LOOKS[RunState(run.state)],
            started_by=run.requested_by.get_username(),
            count=count_effects(run.plan),
            at=run.finished_at or run.started_at or run.created_at,
        )
        for run in found
    )


def _present_glass(person: Person) -> tuple[Notice, ...]:
    """Runs without consent of the last days, for everybody who sees them."""
    since = clock.now() - GLASS_SHOWN
    found = breakglass.list_broken(for_user=person).filter(created_at__gte=since)
    return tuple(
        Notice(
            OBJECT_LOOKS[Operation.ERROR],
            _("%(name)s ran plan %(plan)d of “%(title)s” without consent")
            % {"name": row.by_name, "plan": row.plan.number, "title": row.plan.review.title},
            f"{row.reason} ({row.ticket})",
            url=reverse("reviews:show-plan", args=[row.plan.review.number, row.plan.number]),
            link=_("Look at it"),
        )
        for row in found[:LAST_SHOWN]
    )


def present_home(person: Person) -> Home:
    """The whole page."""
    mine, others = _present_waiting(person)
    found = runs.list_runs(for_user=person)
    running = present_runs(found.filter(state__in=RunState.unfinished()))
    is_planning = any(w.review.state == str(PlanState.PLANNING.label) for w in others)
    return Home(
        glass=_present_glass(person),
        waiting=tuple(mine),
        others=tuple(others),
        running=running,
        last=present_runs(found.exclude(state__in=RunState.unfinished())[:LAST_SHOWN]),
        drifted=present_drifted(for_user=person),
        can_write=access.can(person, Action.WRITE),
        is_moving=bool(running) or is_planning,
    )
