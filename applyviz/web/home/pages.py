"""Read model of home: reviews that need attention, running and recent runs, drift."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, ReviewState, ReviewStatus, RunState
from applyviz.records.models import ApplyRun, Approval, ChangeRequest, Plan, Review
from applyviz.web.clusters.pages.findings import DriftRow, present_drifted
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.reviews.pages.review_header import count_effects
from applyviz.web.reviews.pages.review_list import ReviewRow, present_review, show_newest, with_latest_plan
from applyviz.web.runs.pages.run_page import STATE_STYLES
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import acknowledgements, approving, quorum, viewed_objects
from applyviz.workflow.foundation import access, clock
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.live_values import hidden_positions, show_plans
from applyviz.workflow.runs import emergency_apply

OPEN_SHOWN = 50
LAST_SHOWN = 8
EMERGENCIES_SHOWN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A review with this person's possible action."""

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
    look: Appearance
    started_by: str
    count: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Home:
    """The home page."""

    emergency: tuple[Notice, ...]
    waiting: tuple[Waiting, ...]
    others: tuple[Waiting, ...]
    running: tuple[RunRow, ...]
    last: tuple[RunRow, ...]
    drifted: tuple[DriftRow, ...]
    can_write: bool
    is_moving: bool


def _name_blocker(plan: Plan) -> str:
    refused, broken = plan.counts.get(Operation.BLOCKED, 0), plan.counts.get(Operation.ERROR, 0)
    if plan.state == PlanState.FAILED:
        return _("plan failed")
    if refused:
        text = ngettext("%(n)d object with conflicts", "%(n)d objects with conflicts", refused)
        return text % {"n": refused}
    if broken or plan.problems:
        return _("plan incomplete")
    return "" if count_effects(plan) else _("nothing to apply")


@dataclass(frozen=True, slots=True)
class _Said:
    """Change requests, approvals and acknowledgements of the latest plans of open reviews."""

    agreed: frozenset[int]
    change_requests: dict[int, tuple[str, ...]]
    approved_by: dict[int, tuple[int, ...]]
    has_teams: bool

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> _Said:
        """Read them for all plans at once; those of another digest do not count."""
        digests = {(p.review_id, p.digest): p.pk for p in plans if p.digest}
        reviews_of = {p.review_id for p in plans}
        change_requests: dict[int, tuple[str, ...]] = {}
        approved: dict[int, tuple[int, ...]] = {}
        asked = ChangeRequest.objects.filter(plan__review__in=reviews_of, withdrawn_at=None)
        for review_id, digest, name in asked.values_list("plan__review_id", "digest", "by__username"):
            if (review_id, digest) in digests:
                pk = digests[(review_id, digest)]
                change_requests[pk] = (*change_requests.get(pk, ()), name)
        given = Approval.objects.filter(plan__review__in=reviews_of, revoked_at=None, spent_at=None)
        given = given.exclude(expires_at__lte=clock.now())
        for review_id, digest, by in given.values_list("plan__review_id", "digest", "by_id"):
            if (review_id, digest) in digests:
                pk = digests[(review_id, digest)]
                approved[pk] = (*approved.get(pk, ()), by)
        has_teams = any(
            row.rules.get("approving_team") or row.rules.get("for_risks") for row in policies.list_in_force()
        )
        return cls(quorum.find_agreed(plans), change_requests, approved, has_teams)


def _what_waits(review: Review, plan: Plan, person: Person, *, can_approve: bool, said: _Said) -> tuple[str, bool]:
    is_author = person.pk in (review.author_id, plan.requested_by_id)
    run: ApplyRun | None = getattr(plan, "run", None)
    if plan.state == PlanState.PLANNING:
        return _("planning"), False
    if run is not None:  # the review is open again, because the run did not complete its plan
        facts = {"number": run.number, "state": run.get_state_display()}
        return _("run %(number)d: %(state)s · re-plan") % facts, is_author
    blocker = _name_blocker(plan)
    if blocker:
        return blocker, is_author
    if review.applied_by:
        return _("applied by %(tool)s · verify afterwards") % {"tool": review.get_applied_by_display()}, is_author
    if asked := said.change_requests.get(plan.pk):
        return _("changes requested by %(names)s") % {"names": ", ".join(asked)}, is_author
    if plan.pk in said.agreed:
        closed = approving.find_start_blockers(plan, policies.find_policy(plan))
        if closed:
            return _("approved · %(why)s") % {"why": "; ".join(closed)}, False
        return _("approved · ready to apply"), can_approve
    return _who_approves(plan, person, is_able=can_approve and not is_author, said=said)


def _who_approves(plan: Plan, person: Person, *, is_able: bool, said: _Said) -> tuple[str, bool]:
    if person.pk in said.approved_by.get(plan.pk, ()):
        return _("approved by you · more approvals needed"), False
    if is_able and said.has_teams:
        is_able = quorum.would_count(quorum.count_quorum(plan), person)
    if not is_able:
        return _("needs approval"), False
    open_risks = acknowledgements.find_open(plan)
    if blockers := approving.find_plan_blockers(plan, risks=open_risks, hidden=hidden_positions(plan)):
        # Approvers may also acknowledge risks; everything else is for an author or an administrator.
        return blockers[0], set(blockers) == set(acknowledgements.name_open(open_risks))
    if lacking := approving.find_approver_blockers(plan, for_user=person):
        return lacking[0], lacking == approving.name_unopened(viewed_objects.find_unopened(plan, by=person))
    return _("needs your approval"), True


def _present_waiting(person: Person) -> tuple[list[Waiting], list[Waiting]]:
    mine: list[Waiting] = []
    others: list[Waiting] = []
    can_approve = access.can(person, Action.APPROVE)
    open_ones = reviews.list_reviews(for_user=person).prefetch_related(None).filter(state=ReviewState.OPEN)
    # `newest` is filled by the prefetch.
    found = [(review, review.newest) for review in with_latest_plan(open_ones)[:OPEN_SHOWN]]  # type: ignore[attr-defined]
    said = _Said.of([plan for _, newest in found for plan in newest])
    statuses = show_newest([review for review, _ in found], for_user=person)
    for review, newest in found:
        if newest:
            what, is_yours = _what_waits(review, newest[0], person, can_approve=can_approve, said=said)
            (mine if is_yours else others).append(
                Waiting(present_review(review, statuses, for_user=person), what, is_yours)
            )
    return mine, others


def present_runs(runs: Iterable[ApplyRun], *, for_user: Visitor) -> tuple[RunRow, ...]:
    """Return rows of runs."""
    found = list(runs)
    show_plans((run.plan for run in found), for_user)
    return tuple(
        RunRow(
            number=run.number,
            url=reverse("runs:show-run", args=[run.number]),
            title=run.plan.review.title,
            target=run.plan.target.cluster.name,
            look=STATE_STYLES[RunState(run.state)],
            started_by=run.requested_by.get_username(),
            count=count_effects(run.plan),
            at=run.finished_at or run.started_at or run.created_at,
        )
        for run in found
    )


def _present_emergency(person: Person) -> tuple[Notice, ...]:
    """Return the emergency applies of the last days, for everyone who may see them."""
    since = clock.now() - EMERGENCIES_SHOWN
    found = emergency_apply.list_broken(for_user=person).filter(created_at__gte=since)
    return tuple(
        Notice(
            OBJECT_STYLES[Operation.ERROR],
            _("%(name)s ran an emergency apply of plan %(plan)d of “%(title)s”")
            % {"name": row.by_name, "plan": row.plan.number, "title": row.plan.review.title},
            f"{row.reason} ({row.ticket})",
            url=reverse("reviews:show-plan", args=[row.plan.review.number, row.plan.number]),
            link=_("View"),
        )
        for row in found[:LAST_SHOWN]
    )


def present_home(person: Person) -> Home:
    """Return the home page."""
    mine, others = _present_waiting(person)
    found = runs.list_runs(for_user=person)
    running = present_runs(found.filter(state__in=RunState.unfinished()), for_user=person)
    is_planning = any(w.review.status in (ReviewStatus.READING, ReviewStatus.PLANNING) for w in others)
    return Home(
        emergency=_present_emergency(person),
        waiting=tuple(mine),
        others=tuple(others),
        running=running,
        last=present_runs(found.exclude(state__in=RunState.unfinished())[:LAST_SHOWN], for_user=person),
        drifted=present_drifted(for_user=person),
        can_write=access.can(person, Action.WRITE),
        is_moving=bool(running) or is_planning,
    )
