"""The facts about a plan for one person, with the names and the addresses that its header shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.structs import replace
from applyviz.records.models import ApplyRun, Approval, Plan
from applyviz.web.components.object_links import link_alone, link_change
from applyviz.web.reviews.pages.available_actions import NextActs
from applyviz.web.reviews.pages.review_parts import Blocker, Button
from applyviz.web.runs.pages.scheduled_starts import WaitingStart
from applyviz.workflow.approvals import plan_blockers
from applyviz.workflow.approvals.next_steps import Replan, ResolveConflicts, UploadManifests
from applyviz.workflow.approvals.plan_facts import PlanFacts
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import (
    ChangesRequested,
    ClusterArchived,
    ClusterPaused,
    CommitsUnknown,
    ConflictsOpen,
    EditorUnmatched,
    LiveUnknown,
    ObjectsBroken,
    ObjectsKept,
    ObjectsUnviewed,
    OnlyEstimated,
    OpenRisk,
    PlanBlocker,
    PlanSuperseded,
    PushersUnknown,
    RisksOpen,
    TooManyDeletions,
    TooMuchPruned,
)
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans.live_values import read_change


class ApprovalState(Struct, frozen=True):
    """The input of the header besides the plan itself: the facts, and what their words need.

    - `links`: where each blocker is explained or can be resolved.
    """

    facts: PlanFacts
    links: Mapping[PlanBlocker, str]
    approved_by: tuple[str, ...]
    manifests_url: str = ""
    emergency_url: str = ""
    opens_at: datetime | None = None
    waiting: WaitingStart | None = None

    @property
    def missing(self) -> int:
        """Return how many approvals are missing."""
        return self.facts.quorum.missing

    def link_first(self, kind: type[PlanBlocker]) -> str:
        """Return the address of the first blocker of a kind."""
        return next((url for blocker, url in self.links.items() if isinstance(blocker, kind)), "")

    def list_blockers(self, found: Iterable[PlanBlocker]) -> tuple[Blocker, ...]:
        """Return blockers in words, each with its address."""
        return tuple(Blocker(sentences.describe(one), self.links.get(one, "")) for one in found)


def disable_planning(button: Button, approval: ApprovalState) -> Button:
    """Return the button of the next step, disabled and without its note if the cluster accepts no plan now."""
    stops, makes_plan = approval.facts.stops, (Replan, UploadManifests, ResolveConflicts)
    if not stops or not isinstance(approval.facts.next, makes_plan):
        return button
    return replace(button, url="", form_url="", blockers=(*approval.list_blockers(stops), *button.blockers), note="")


def describe_start(plan: Plan, facts: PlanFacts) -> str:
    """Return in a few words whether an approved plan can be applied now: a run stops where live differs from it."""
    if facts.stops:
        is_paused = isinstance(facts.stops[0], ClusterPaused)
        return _("cluster paused") if is_paused else _("cluster archived")
    if facts.closed:
        return _("blocked by change window")
    return _("live differs") if plan_comparison.find_differing((plan,)) else _("ready")


def name_approver(approval: Approval) -> str:
    """Return the name of the approver, marked if their role rests on a grant by the sole administrator."""
    if not approval.is_sole:
        return approval.by_name
    return _("%(name)s (role granted by the sole administrator)") % {"name": approval.by_name}


def link_conflict(plan: Plan, position: int) -> str:
    """Return the address of the first open conflict of an object in the scroll of all changes.

    An object whose conflict only the server names has no such row: then it is the object alone.
    """
    change = read_change(plan, position)
    found = [n for n, reason in enumerate(change.fields) if reason.operation is FieldOperation.CONFLICT]
    open_paths = {one.path for one in change.open_fields}
    indices = iter([n for n in found if change.fields[n].path in open_paths] or found)
    index = next(indices, None)
    if index is None:
        return link_alone(plan, position)
    scroll = reverse("reviews:show-changes", args=[plan.review.number, plan.number])
    return f"{scroll}?at={position}#conflict-{position}-{index}"


def link_risk(plan: Plan, risk: OpenRisk) -> str:
    """Return the address of a risk in the list of all risks."""
    address = reverse("reviews:show-risks", args=[plan.review.number, plan.number])
    return f"{address}#risk-{risk.kind.slug}"


def link_blocker(plan: Plan, blocker: PlanBlocker) -> str:
    """Return the address where a blocker is explained or can be resolved; "" without one."""
    match blocker:
        case PlanSuperseded(number=number):
            return reverse("reviews:show-plan", args=[plan.review.number, number])
        case RisksOpen(risks=risks):
            return link_risk(plan, risks[0])
        case ConflictsOpen(position=position):
            return link_conflict(plan, position)
        case ObjectsUnviewed(positions=(position, *_others)):
            return link_change(plan, position)
        case ObjectsBroken() | LiveUnknown() | OnlyEstimated() | ObjectsKept() | TooManyDeletions() | TooMuchPruned():
            return link_change(plan, blocker.position)
        case EditorUnmatched() | PushersUnknown() | CommitsUnknown():
            return reverse("reviews:follow-branch", args=[plan.review.number]) + "#editors"
        case ClusterArchived() | ClusterPaused():
            return reverse("clusters:show-cluster", args=[plan.target.cluster.slug])
        case ChangesRequested():
            overview = reverse("reviews:show-overview", args=[plan.review.number, plan.number])
            return f"{overview}#requested-changes"
        case _:
            return ""


def link_blockers(plan: Plan, facts: PlanFacts) -> Mapping[PlanBlocker, str]:
    """Return the addresses of the blockers of a plan, of its reader, and of a start now."""
    return {blocker: link_blocker(plan, blocker) for blocker in (*facts.blockers, *facts.own, *facts.closed)}


def find_approval_state(
    plan: Plan, person: Person, facts: PlanFacts, acts: NextActs, run: ApplyRun | None
) -> ApprovalState:
    """Return the facts with who approved, who can, and the addresses for this person."""
    found = facts.quorum
    # A run spends the approvals of its plan, and nothing else does.
    spent = plan.approvals.filter(digest=plan.digest).exclude(spent_at=None) if run is not None else ()
    can_break = access.can(person, Action.BREAK_GLASS, access.scopes_of(plan.review))
    return ApprovalState(
        facts=facts,
        links=link_blockers(plan, facts),
        approved_by=tuple(name_approver(a) for a in (*found.approvals, *spent)),
        manifests_url=acts.manifests_url,
        emergency_url=reverse("reviews:emergency-apply", args=[plan.review.number, plan.number]) if can_break else "",
        opens_at=plan_blockers.find_start_opening(found.policy, facts.closed),
    )
