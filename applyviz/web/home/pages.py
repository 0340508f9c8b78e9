"""Read model of home: reviews that need attention, running and recent runs, drift."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import ReviewState, ReviewStatus, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.web.clusters.pages.cluster_health import AS_ROWS, AS_STRIPS, ClusterHealth, present_health
from applyviz.web.clusters.pages.findings import present_drifted
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import Notice
from applyviz.web.home.attention import SHOWN, AttentionRow, NextAction, Urgency, Waiting, order_attention
from applyviz.web.reviews.pages.approval_state import link_blocker
from applyviz.web.reviews.pages.review_list import present_review, show_newest, with_latest_plan
from applyviz.web.runs.pages.run_rows import RunRow, add_progress, present_runs
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals.next_steps import AcknowledgeRisks, ApplyPlan, ApprovePlan, ViewObjects
from applyviz.workflow.approvals.plan_blockers import find_start_blockers
from applyviz.workflow.approvals.plan_facts import PlanFacts, PlanOutline, find_plan_facts
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import ChangesRequested, ConflictsOpen
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans import reviews
from applyviz.workflow.runs import emergency_apply

OPEN_SHOWN = 50
LAST_SHOWN = 8
RUNS_SHOWN = 5
EMERGENCIES_SHOWN = timedelta(days=7)


class Home(Struct, frozen=True):
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
    def shown_clusters(self) -> tuple[ClusterHealth, ...]:
        """The clusters that are listed: those in trouble come first."""
        return self.clusters[:AS_ROWS]

    @property
    def has_more_clusters(self) -> bool:
        """Whether some clusters are not listed."""
        return len(self.clusters) > AS_ROWS

    @property
    def shown(self) -> tuple[AttentionRow, ...]:
        """The lines that are listed."""
        return self.attention[:SHOWN]

    @property
    def more(self) -> int:
        """The number of those that are not shown."""
        return max(0, len(self.attention) - SHOWN)


def _find_next(
    plan: Plan, outline: PlanOutline, facts: PlanFacts | None, *, is_author: bool, differs: bool
) -> NextAction:
    """Return the next step of a review; `facts` are there where this person may approve, start or acknowledge.

    - `differs`: live was found to differ from the plan.
    """
    run: ApplyRun | None = getattr(plan, "run", None)
    if run is not None:  # the review is open again, because the run did not complete its plan
        named = {"number": run.number, "state": run.get_state_display()}
        return NextAction(_("run %(number)d: %(state)s · re-plan") % named, is_author, Urgency.BROKEN, _("Re-plan"))
    match outline.status:
        case ReviewStatus.READING | ReviewStatus.PLANNING:
            return NextAction(_("planning"))
        case ReviewStatus.PLAN_FAILED:
            return NextAction(_("plan failed"), is_author, Urgency.BROKEN)
        case ReviewStatus.BLOCKED | ReviewStatus.NOTHING:
            return _find_mending(plan, outline, is_author=is_author)
        case ReviewStatus.APPLIED_ELSEWHERE:
            what = _("applied by %(tool)s · verify afterwards") % {"tool": plan.review.get_applied_by_display()}
            return NextAction(what, is_author, act=_("Verify"))
        case ReviewStatus.CHANGES_REQUESTED:
            asked = [one.name for one in outline.blockers if isinstance(one, ChangesRequested)]
            what = _("changes requested by %(names)s") % {"names": ", ".join(asked)}
            return NextAction(what, is_author, Urgency.REQUESTED, _("Re-plan"))
        case ReviewStatus.APPROVED:
            return _find_start(plan, facts, differs=differs)
        case _:
            return _find_consent(plan, facts)


def _find_mending(plan: Plan, outline: PlanOutline, *, is_author: bool) -> NextAction:
    """Return the step of a plan that is blocked: a conflict is resolved where it is, all else is viewed there."""
    conflicts = next((one for one in outline.blockers if isinstance(one, ConflictsOpen)), None)
    blocker = conflicts or outline.blockers[0]
    act = _("View") if conflicts is None else _("Resolve")
    url = link_blocker(plan, blocker) if is_author else ""
    return NextAction(sentences.describe(blocker), is_author, Urgency.BROKEN, act, url)


def _find_start(plan: Plan, facts: PlanFacts | None, *, differs: bool) -> NextAction:
    closed = find_start_blockers(plan, policies.find_policy(plan)) if facts is None else facts.closed
    if closed:
        return NextAction(_("approved · %(why)s") % {"why": sentences.join_clauses(closed)})
    is_yours = facts is not None and isinstance(facts.next, ApplyPlan)
    if differs:
        return NextAction(_("approved · live differs, so a run would stop"), is_yours, Urgency.APPROVAL, _("View"))
    return NextAction(_("approved · ready to apply"), is_yours, Urgency.APPROVAL, _("Apply"))


def _find_consent(plan: Plan, facts: PlanFacts | None) -> NextAction:
    """Return the step of a plan that needs approvals or acknowledgments."""
    others = NextAction(_("needs approval"), urgency=Urgency.APPROVAL, act=_("Review"))
    if facts is None:
        return others
    if facts.is_asked:
        others = replace(others, urgency=Urgency.ASKED)
    match facts.next:
        case ApprovePlan():
            what = _("asked of you · needs your approval") if facts.is_asked else _("needs your approval")
            return replace(others, what=what, is_yours=True)
        case AcknowledgeRisks():
            blocker = facts.blockers[0]
        case ViewObjects():
            blocker = facts.own[0]
        case _ if facts.reader.has_approved:
            return replace(others, what=_("approved by you · more approvals needed"))
        case _ if facts.awaited:
            return replace(others, what=_("requested from %(names)s") % {"names": ", ".join(facts.awaited)})
        case _:
            return others
    what = sentences.describe(blocker)
    what = _("asked of you · %(what)s") % {"what": what} if facts.is_asked else what
    return replace(others, what=what, is_yours=True, url=link_blocker(plan, blocker))


def _is_author(plan: Plan, person: Person) -> bool:
    return person.pk in (plan.review.author_id, plan.requested_by_id)


def _present_waiting(person: Person) -> tuple[list[Waiting], list[Waiting]]:
    mine: list[Waiting] = []
    others: list[Waiting] = []
    open_ones = reviews.list_reviews(for_user=person).prefetch_related(None).filter(state=ReviewState.OPEN)
    # `newest` is filled by the prefetch.
    found = [(review, review.newest) for review in with_latest_plan(open_ones)[:OPEN_SHOWN]]  # type: ignore[attr-defined]
    outlines = show_newest([review for review, _ in found], for_user=person)
    is_asked = access.can(person, Action.APPROVE) or access.can(person, Action.APPLY)
    plans = [newest[0] for _review, newest in found if newest]
    consented = (ReviewStatus.NEEDS_APPROVAL, ReviewStatus.APPROVED)
    detailed = [p for p in plans if outlines[p.pk].status in consented and (is_asked or _is_author(p, person))]
    facts = find_plan_facts(detailed, person)
    approved = [plan for plan in plans if outlines[plan.pk].status is ReviewStatus.APPROVED]
    differing = plan_comparison.find_differing(approved) if approved else frozenset()
    for review, newest in found:
        for plan in newest:
            is_author = _is_author(plan, person)
            differs = plan.pk in differing
            step = _find_next(plan, outlines[plan.pk], facts.get(plan.pk), is_author=is_author, differs=differs)
            row = Waiting(present_review(review, outlines, for_user=person), step)
            (mine if step.is_yours else others).append(row)
    return mine, others


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
    last = found.exclude(state__in=RunState.unfinished()).values("pk")[:RUNS_SHOWN]
    shown = present_runs(found.filter(Q(state__in=RunState.unfinished()) | Q(pk__in=last)), for_user=person)
    running = add_progress([row for row in shown if not row.is_finished])
    is_planning = any(w.review.status in (ReviewStatus.READING, ReviewStatus.PLANNING) for w in others)
    return Home(
        emergency=_present_emergency(person),
        attention=order_attention(mine, present_drifted(for_user=person)),
        clusters=present_health(person),
        others=tuple(others),
        running=running,
        last=tuple(row for row in shown if row.is_finished),
        can_write=access.can(person, Action.WRITE),
        is_moving=bool(running) or is_planning,
    )
