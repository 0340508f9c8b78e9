"""The list of reviews: one row each with its state; filtered and in pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery
from django.urls import reverse
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import ReviewStatus
from applyviz.records.models import Plan, Review
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.list_filters import ListFilter, match_title, read_number
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.workflow.approvals.plan_facts import PlanOutline, list_outlines
from applyviz.workflow.foundation.access import Person, Visitor
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.live_values import show_plan, show_plans


class Share(Struct, frozen=True):
    """The number of objects of a plan with one operation."""

    style: Appearance
    number: int


class ReviewRow(Struct, frozen=True):
    """One review in a list."""

    number: int
    title: str
    url: str
    author: str
    target: str
    status: ReviewStatus
    style: Appearance
    plan: str
    shares: tuple[Share, ...]
    updated_at: datetime


class ReviewList(Struct, frozen=True):
    """One page of reviews; `is_moving` while a state of one changes without a person."""

    page: ListPage[ReviewRow]
    is_moving: bool


_CALM, _WAITING = ("·", "calm"), ("▸", "warn")
_MOVING, _DONE, _BAD = ("▸", "change"), ("✓", "add"), ("×", "remove")  # noqa: RUF001 the cross is drawn
_SHAPES: Mapping[ReviewStatus, tuple[str, str]] = {
    ReviewStatus.READING: _MOVING,
    ReviewStatus.PLANNING: _MOVING,
    ReviewStatus.PLAN_FAILED: _BAD,
    ReviewStatus.NOTHING: _CALM,
    ReviewStatus.BLOCKED: ("!", "remove"),
    ReviewStatus.NEEDS_APPROVAL: _WAITING,
    ReviewStatus.CHANGES_REQUESTED: ("!", "warn"),
    ReviewStatus.APPROVED: _DONE,
    ReviewStatus.APPLYING: _MOVING,
    ReviewStatus.APPLIED: _DONE,
    ReviewStatus.APPLIED_ELSEWHERE: _DONE,
    ReviewStatus.FAILED: _BAD,
    ReviewStatus.STALE: ("!", "warn"),
    ReviewStatus.CANCELED: ("−", "warn"),  # noqa: RUF001 the minus sign is drawn
    ReviewStatus.SUPERSEDED: _CALM,
    ReviewStatus.CLOSED: _CALM,
}
_CHANGING = (ReviewStatus.READING, ReviewStatus.PLANNING, ReviewStatus.APPLYING)
STATUS_STYLES = {status: Appearance(glyph, status.label, tone) for status, (glyph, tone) in _SHAPES.items()}


def count_shares(plan: Plan) -> tuple[Share, ...]:
    """Return the operations of the plan without unchanged objects."""
    return tuple(
        Share(style, plan.counts[operation.value])
        for operation, style in OBJECT_STYLES.items()
        if operation is not Operation.UNCHANGED and plan.counts.get(operation.value)
    )


def with_latest_plan(found: QuerySet[Review]) -> QuerySet[Review]:
    """Return reviews with their latest plan and its run, in a fixed number of queries."""
    newest = Plan.objects.filter(review=OuterRef("review")).order_by("-number").values("pk")[:1]
    latest = (
        Plan.objects.filter(pk=Subquery(newest))
        .select_related("target__cluster", "run", "requested_by", "revision")
        .defer("tag_key")
    )
    return found.select_related("author").prefetch_related(Prefetch("plans", latest, to_attr="newest"))


def show_newest(found: Iterable[Review], *, for_user: Visitor) -> dict[int, PlanOutline]:
    """Have the latest plans of reviews from `with_latest_plan` shown to a person; return how each stands, by its id."""
    plans = [plan for review in found for plan in review.newest]  # type: ignore[attr-defined]  # by the prefetch
    for plan in plans:
        plan.review.keep_latest_plan(plan)
    show_plans(plans, for_user)
    return list_outlines(plans)


def present_review(review: Review, outlines: Mapping[int, PlanOutline], *, for_user: Visitor) -> ReviewRow:
    """One row; the review comes from `with_latest_plan`, the outlines from `show_newest`."""
    newest: list[Plan] = review.newest  # type: ignore[attr-defined]  # filled by the prefetch
    plan = show_plan(newest[0], for_user, can_ask=False) if newest else None
    status = outlines[plan.pk].status if plan else ReviewStatus.READING
    return ReviewRow(
        number=review.number,
        title=review.title,
        url=reverse("reviews:show-review", args=[review.number]),
        author=review.author.get_username(),
        target=plan.target.cluster.name if plan else "",
        status=status,
        style=STATUS_STYLES[status],
        plan=str(plan.number) if plan else "",
        shares=count_shares(plan) if plan else (),
        updated_at=review.updated_at,
    )


def _match_text(text: str) -> Q:
    """Return the condition that a review is meant: by its number, or by words of its title or ticket."""
    if not text:
        return Q()
    number = read_number(text)
    return match_title(text) if number is None else match_title(text) | Q(number=number)


def present_reviews(chosen: ListFilter, *, page: int, for_user: Person) -> ReviewList:
    """Return one page of the reviews that match, newest first."""
    found = reviews.list_reviews(for_user=for_user).filter(
        _match_text(chosen.text),
        chosen.match_scopes("pk"),
        chosen.match_person("author__username"),
        chosen.match_days("updated_at"),
    )
    if chosen.state:
        found = found.filter(state=chosen.state)
    cut = cut_page(with_latest_plan(found.prefetch_related(None)), page)
    shown = list(cut.object_list)
    outlines = show_newest(shown, for_user=for_user)
    rows = tuple(present_review(review, outlines, for_user=for_user) for review in shown)
    return ReviewList(ListPage.of(cut, rows, chosen.query), any(row.status in _CHANGING for row in rows))
