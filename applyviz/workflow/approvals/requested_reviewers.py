"""Requested reviewers: whom the author of a review asks for an approval by name, and where each of them stands.

A request gives no right and blocks nothing. People who may approve the review can be asked; a person who loses that
right stays on the list, and is neither notified nor awaited. The ids on the row of a review decide nothing about what
may run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock, moments
from applyviz.records.enums import AuditAction, ReviewState
from applyviz.records.models import ApplyRun, Plan, Review
from applyviz.workflow import policies
from applyviz.workflow.approvals import quorum
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.people import humans

MOST_REQUESTED = 20


class RequestedReviewer(Struct, frozen=True):
    """One person who was asked, and whether they approved the plan or still may."""

    account: int
    name: str
    has_approved: bool
    can_approve: bool

    @property
    def is_awaited(self) -> bool:
        """Return whether the review of this person is still to come."""
        return self.can_approve and not self.has_approved


def list_asked(review: Review) -> tuple[Person, ...]:
    """Return the accounts that were asked, deactivated ones too, by name."""
    return moments.read_once(("asked for review", review.pk), lambda: _read_asked(review))


def _read_asked(review: Review) -> tuple[Person, ...]:
    return _read_asked_of([review])[review.pk]


def _read_asked_of(reviews: Iterable[Review]) -> dict[int, tuple[Person, ...]]:
    ids = {review.pk: _list_ids(review) for review in reviews}
    wanted = {pk for asked in ids.values() for pk in asked}
    rows = Person.objects.filter(pk__in=wanted).select_related(*humans.OF_HUMANS).order_by("username")
    found = tuple(rows) if wanted else ()
    return {review: tuple(one for one in found if one.pk in asked) for review, asked in ids.items()}


def _list_ids(review: Review) -> list[int]:
    stored = review.requested_reviewers
    # The row may have been changed past the use cases.
    return [one for one in stored if type(one) is int][:MOST_REQUESTED] if isinstance(stored, list) else []


def read_together(plans: Iterable[Plan]) -> None:
    """Read who was asked for the reviews of many plans with one statement, while a page is shown."""
    by_id = {plan.review_id: plan.review for plan in plans}
    moments.read_together("asked for review", by_id, lambda missing: _read_asked_of(by_id[pk] for pk in missing))


def may_approve(plan: Plan, person: Person) -> bool:
    """Return whether a person may see the review of a plan and approve it: by their role, and by not being involved."""
    return (
        access.can(person, Action.APPROVE, access.scopes_of(plan.review))
        and access.can(person, Action.APPROVE, policies.list_scopes(plan))
        and not quorum.is_involved(plan, person)
    )


def list_askable(plan: Plan) -> tuple[Person, ...]:
    """Return who can be asked for a review of a plan: those who may approve it and have not."""
    scopes = tuple(access.scopes_of(plan.review))
    return tuple(one for one in quorum.list_candidates(plan) if access.can(one, Action.APPROVE, scopes))


def find_reviewers(plan: Plan, found: Quorum, run: ApplyRun | None = None) -> tuple[RequestedReviewer, ...]:
    """Return the people who were asked, by name; `found` and `run` are those of the plan."""
    asked = list_asked(plan.review)
    if not asked:
        return ()
    approved = {approval.by_id for approval in found.approvals}
    if run is not None:  # a run spends the approvals of its plan
        spent = plan.approvals.filter(digest=plan.digest).exclude(spent_at=None)
        approved |= set(spent.values_list("by_id", flat=True))
    return tuple(
        RequestedReviewer(one.pk, one.get_username(), one.pk in approved, may_approve(plan, one)) for one in asked
    )


def are_enough(found: Quorum, people: Iterable[Person]) -> bool:
    """Return whether the approvals of these people would meet every demand that is not met yet."""
    people = list(people)
    accounts = {human: pk for pk, human in humans.name_humans(people).items()}.values()
    distinct = [one for one in people if one.pk in accounts]
    lacking = [need for need in found.needs if need.missing]
    teams = humans.list_teams(distinct) if any(need.demand.team for need in lacking) else {}
    return all(
        sum(not need.demand.team or need.demand.team in teams[one.pk] for one in distinct) >= need.missing
        for need in lacking
    )


def _name(people: Iterable[Person]) -> list[str]:
    return sorted(person.get_username() for person in people)


def _choose(review: Review, plan: Plan, accounts: Collection[int]) -> tuple[list[Person], list[Person]]:
    """Return who is asked now and was not, and whose request is withdrawn.

    - Raises `NotValidError` for an account that cannot be asked, whether there is one or not.
    """
    if len(accounts) > MOST_REQUESTED:
        raise NotValidError(_("at most %(most)d people can be asked") % {"most": MOST_REQUESTED})
    before = list_asked(review)
    known = {one.pk: one for one in (*list_askable(plan), *before)}
    if not known.keys() >= set(accounts):
        raise NotValidError(_("only people who may approve this review can be asked"))
    old = {one.pk for one in before}
    return [known[pk] for pk in accounts if pk not in old], [one for one in before if one.pk not in accounts]


def request_reviewers(review: Review, *, by: Person, accounts: Iterable[int]) -> None:
    """Ask exactly these accounts for a review, in place of those that were asked; none withdraws every request.

    - Raises `NotValidError` for an account that may not approve the review, unless it was asked before.
    """
    access.require(by, Action.WRITE, access.scopes_of(review))
    chosen = frozenset(accounts)
    with transaction.atomic(), moments.until_written():
        review = lock_review(review.pk)
        plan = review.latest_plan
        if review.state != ReviewState.OPEN or plan is None:
            raise NotPossibleError(_("this review is closed, so no reviewers can be requested"))
        requested, withdrawn = _choose(review, plan, chosen)
        if not requested and not withdrawn:
            return
        changed = {"requested_reviewers": sorted(chosen), "updated_at": clock.host_now()}
        Review.objects.filter(pk=review.pk).update(**changed)
        trail.record(
            AuditAction.REVIEWERS_CHANGED,
            by=by,
            about=trail.AuditSubject.of_plan(plan),
            detail={"requested": _name(requested), "withdrawn": _name(withdrawn)},
        )


def find_accounts(review: Review, names: Iterable[str]) -> frozenset[int]:
    """Return the accounts behind names, among those that can be asked or were.

    - Raises `NotValidError` with the first other name, whether an account has it or not.
    """
    plan = review.latest_plan
    askable = () if plan is None else list_askable(plan)
    known = {one.get_username(): one.pk for one in (*askable, *list_asked(review))}
    wanted = tuple(names)
    for name in wanted:
        if name not in known:
            raise NotValidError(_("no person named %(name)s may approve this review") % {"name": name[:150]})
    return frozenset(known[name] for name in wanted)
