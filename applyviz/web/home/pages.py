"""Read model of home: reviews that need attention, running and recent runs, drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz import clock
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome, PlanState, ReviewState, ReviewStatus, RunState
from applyviz.records.models import ApplyRun, Approval, ChangeRequest, ObjectResult, Plan, Review
from applyviz.web.clusters.pages.cluster_health import AS_STRIPS, ClusterHealth, present_health
from applyviz.web.clusters.pages.findings import present_drifted
from applyviz.web.clusters.pages.run_rows import RunRow, present_runs
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.home.attention import SHOWN, AttentionRow, NextAction, Urgency, Waiting, order_attention
from applyviz.web.reviews.pages.review_header import count_effects
from applyviz.web.reviews.pages.review_list import present_review, show_newest, with_latest_plan
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import acknowledgments, approving, quorum, viewed_objects
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.runs import emergency_apply

OPEN_SHOWN = 50
LAST_SHOWN = 8
RUNS_SHOWN = 5
EMERGENCIES_SHOWN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Home:
    """The home page."""

    emergency: tuple[Notice, ...]
    attention: tuple[AttentionRow, ...]
    clusters: tuple[ClusterHealth, ...]
    others: tuple[Waiting, ...]
    running: tuple[RunRow, ...]
    last: tuple[RunRow, ...]
    can_write: bool
    is_moving: bool

    @property
    def has_table(self) -> bool:
        """Whether the clusters are too many to be drawn one by one."""
        return len(self.clusters) > AS_STRIPS

    @property
    def shown(self) -> tuple[AttentionRow, ...]:
        """The lines that are listed."""
        return self.attention[:SHOWN]

    @property
    def more(self) -> int:
        """The number of those that are not shown."""
        return max(0, len(self.attention) - SHOWN)


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
class _ApprovalFacts:
    """Change requests, approvals and acknowledgments of the latest plans of open reviews."""

    agreed: frozenset[int]
    change_requests: dict[int, tuple[str, ...]]
    approved_by: dict[int, tuple[int, ...]]
    has_teams: bool

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> _ApprovalFacts:
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


def _find_next(review: Review, plan: Plan, person: Person, *, can_approve: bool, facts: _ApprovalFacts) -> NextAction:
    is_author = person.pk in (review.author_id, plan.requested_by_id)
    run: ApplyRun | None = getattr(plan, "run", None)
    if plan.state == PlanState.PLANNING:
        return NextAction(_("planning"))
    if run is not None:  # the review is open again, because the run did not complete its plan
        named = {"number": run.number, "state": run.get_state_display()}
        return NextAction(_("run %(number)d: %(state)s · re-plan") % named, is_author, Urgency.BROKEN, _("Re-plan"))
    blocker = _name_blocker(plan)
    if blocker:
        act = _("Resolve") if plan.counts.get(Operation.BLOCKED) else _("View")
        return NextAction(blocker, is_author, Urgency.BROKEN, act)
    if review.applied_by:
        what = _("applied by %(tool)s · verify afterwards") % {"tool": review.get_applied_by_display()}
        return NextAction(what, is_author, act=_("Verify"))
    if asked := facts.change_requests.get(plan.pk):
        what = _("changes requested by %(names)s") % {"names": ", ".join(asked)}
        return NextAction(what, is_author, Urgency.REQUESTED, _("Re-plan"))
    if plan.pk in facts.agreed:
        closed = approving.find_start_blockers(plan, policies.find_policy(plan))
        if closed:
            return NextAction(_("approved · %(why)s") % {"why": "; ".join(closed)})
        return NextAction(_("approved · ready to apply"), can_approve, Urgency.APPROVAL, _("Apply"))
    what, is_yours = _who_approves(plan, person, is_able=can_approve and not is_author, facts=facts)
    return NextAction(what, is_yours, Urgency.APPROVAL, _("Review"))


def _who_approves(plan: Plan, person: Person, *, is_able: bool, facts: _ApprovalFacts) -> tuple[str, bool]:
    if person.pk in facts.approved_by.get(plan.pk, ()):
        return _("approved by you · more approvals needed"), False
    if is_able and facts.has_teams:
        is_able = quorum.would_count(quorum.count_quorum(plan), person)
    if not is_able:
        return _("needs approval"), False
    open_risks = acknowledgments.find_open(plan)
    if blockers := approving.find_plan_blockers(plan, risks=open_risks, hidden=hidden_positions(plan)):
        # Approvers may also acknowledge risks; everything else is for an author or an administrator.
        return blockers[0], set(blockers) == set(acknowledgments.name_open(open_risks))
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
    facts = _ApprovalFacts.of([plan for _, newest in found for plan in newest])
    statuses = show_newest([review for review, _ in found], for_user=person)
    for review, newest in found:
        if newest:
            found_next = _find_next(review, newest[0], person, can_approve=can_approve, facts=facts)
            row = Waiting(present_review(review, statuses, for_user=person), found_next)
            (mine if found_next.is_yours else others).append(row)
    return mine, others


def present_running(found: QuerySet[ApplyRun], *, for_user: Visitor) -> tuple[RunRow, ...]:
    """Return rows of runs that go on, with how many of their objects are done."""
    rows = present_runs(found, for_user=for_user)
    if not rows:
        return ()
    results = ObjectResult.objects.filter(run__number__in=[row.number for row in rows]).order_by()
    counted = results.values_list("run__number").annotate(
        total=Count("pk"), open=Count("pk", filter=Q(outcome__in=Outcome.unfinished()))
    )
    done = {number: (total - left, total) for number, total, left in counted}
    return tuple(
        replace(row, done=done[row.number][0], total=done[row.number][1]) if row.number in done else row for row in rows
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
    running = present_running(found.filter(state__in=RunState.unfinished()), for_user=person)
    is_planning = any(w.review.status in (ReviewStatus.READING, ReviewStatus.PLANNING) for w in others)
    return Home(
        emergency=_present_emergency(person),
        attention=order_attention(mine, present_drifted(for_user=person)),
        clusters=present_health(person),
        others=tuple(others),
        running=running,
        last=present_runs(found.exclude(state__in=RunState.unfinished())[:RUNS_SHOWN], for_user=person),
        can_write=access.can(person, Action.WRITE),
        is_moving=bool(running) or is_planning,
    )
