"""The sticky header of a review: its steps, and the main button or why it is disabled.

All blockers come from `workflow.approvals.approving`, the list that the use cases enforce too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.engine.readiness.workloads import ROLLED_OUT
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.records.enums import ClusterKind, Outcome, PlanState, RunState, VerificationResult, VerificationState
from applyviz.records.models import ApplyRun, Plan, Verification
from applyviz.web.reviews.pages.review_parts import Blocker, Button, HeaderStep, ReviewHeader, StepState
from applyviz.web.runs.pages.scheduled_starts import WaitingStart
from applyviz.workflow.approvals.acknowledgments import OpenRisk
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.runs.rules import RunRules

MODE_WORDS: dict[ApplyMode, str | Promise] = {
    ApplyMode.CLIENT: gettext_lazy("client-side"),
    ApplyMode.SERVER: gettext_lazy("server-side"),
}


ACTION_WORDS: dict[SetAction, str | Promise] = {
    SetAction.DELETE: gettext_lazy("delete"),
    SetAction.PATCH: gettext_lazy("patch"),
    SetAction.SET_LAST_APPLIED: gettext_lazy("set last-applied"),
    SetAction.CLEAR_OWNERSHIP: gettext_lazy("clear managedFields"),
}


def name_mode(options: ApplyOptions) -> str | Promise:
    """Return how the requests of a plan are made, in words."""
    return MODE_WORDS[options.mode] if options.is_applying else ACTION_WORDS[options.action]


def name_manager(options: ApplyOptions) -> str:
    """Return the field manager of a plan; "" for deletions, which have none."""
    return "" if options.is_deleting else options.field_manager


def is_deleting(plan: Plan) -> bool:
    """Return whether a plan deletes the objects of its manifests."""
    return bool(plan.options.get("action") == SetAction.DELETE)


def is_patching(plan: Plan) -> bool:
    """Return whether a plan patches objects."""
    return bool(plan.options.get("action") == SetAction.PATCH)


NAMED = 2


@dataclass(frozen=True, slots=True)
class ApprovalState:
    """The input of the header besides the plan itself."""

    approved_by: tuple[str, ...]
    needed: int
    missing: int
    plan_blockers: tuple[str, ...]
    person_blockers: tuple[str, ...]
    can_write: bool
    can_apply: bool
    attention_url: str = ""
    blocker_urls: Mapping[str, str] = field(default_factory=dict)
    unopened_url: str = ""
    closed: tuple[str, ...] = ()
    emergency_url: str = ""
    has_asked: bool = False
    is_outdated: bool = False
    risk_blockers: tuple[str, ...] = ()
    risk_url: str = ""
    waits_for_rollout: bool = False
    replaced_by: int = 0
    latest_url: str = ""
    objectors: tuple[str, ...] = ()
    has_approved: bool = False
    lacking: tuple[str, ...] = ()
    opens_at: datetime | None = None
    can_replan: bool = False
    manifests_url: str = ""
    open_risks: tuple[OpenRisk, ...] = ()
    conflicts: int = 0
    conflict_url: str = ""
    can_acknowledge: bool = False
    unopened: int = 0
    candidates: tuple[str, ...] = ()
    waiting: WaitingStart | None = None

    @property
    def has_only_risks(self) -> bool:
        """Return whether unacknowledged risks are the only blocker."""
        return bool(self.risk_blockers) and set(self.plan_blockers) <= set(self.risk_blockers)

    def link(self, blocker: str) -> str:
        """Return the address at which a blocker of the plan can be resolved."""
        if self.replaced_by:
            return self.latest_url
        if blocker in self.risk_blockers:
            return self.risk_url
        return self.blocker_urls.get(blocker, self.attention_url)


def count_effects(plan: Plan) -> int:
    """Return how many objects the plan would write."""
    calm = (Operation.UNCHANGED, Operation.NOT_FOUND, Operation.BLOCKED, Operation.ERROR, Operation.LEFT_OUT)
    return sum(number for operation, number in plan.counts.items() if operation not in calm)


def can_wait(plan: Plan) -> bool:
    """Return whether a run can wait until workloads are ready: in a sandbox pods run only where they are simulated."""
    cluster = plan.target.cluster
    is_applying = plan.options.get("action", SetAction.APPLY) in (SetAction.APPLY, SetAction.PATCH)
    return is_applying and (cluster.kind != ClusterKind.SANDBOX or cluster.simulates_workloads)


def name_target(plan: Plan, options: ApplyOptions) -> str:
    """Return cluster and namespace as one text."""
    return f"{plan.target.cluster.name} / {options.namespace}"


def name_identity(plan: Plan) -> str:
    """Return the identity that a plan impersonates; "" for the cluster's own credential."""
    identity = impersonation.read_identity(plan)
    return "" if identity.is_own else str(identity)


def _name_stop(plan: Plan, approval: ApprovalState) -> str:
    """Return, in two words, what prevents the approval of a plan."""
    if approval.objectors:
        return _("changes requested")
    if approval.is_outdated:
        return _("policy changed")
    is_calm = not any(plan.counts.get(operation) for operation in (Operation.BLOCKED, Operation.ERROR))
    if not is_calm or count_effects(plan):
        return _("not complete")
    return _("nothing to delete") if is_deleting(plan) else _("nothing to apply")


def _step_plan(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> HeaderStep:
    if plan.state == PlanState.PLANNING:
        return HeaderStep(_("plan"), StepState.NOW, _("planning"))
    if plan.state == PlanState.FAILED:
        return HeaderStep(_("plan"), StepState.BAD, _("failed"))
    if approval.replaced_by and run is None:
        return HeaderStep(
            _("plan"), StepState.BAD, _("superseded by plan %(number)d") % {"number": approval.replaced_by}
        )
    if plan.counts.get(Operation.BLOCKED, 0):
        note = _("%(author)s is next") % {"author": plan.review.author.get_username()}
        return HeaderStep(_("resolve"), StepState.NOW, note)
    if approval.has_only_risks and run is None:
        return HeaderStep(_("acknowledge"), StepState.NOW, approval.risk_blockers[0])
    if approval.plan_blockers and run is None:  # a plan that was run is spent, not incomplete
        return HeaderStep(_("plan"), StepState.NOW, _name_stop(plan, approval))
    return HeaderStep(_("planned"), StepState.DONE, _("no open conflicts"))


def _step_approve(plan: Plan, approval: ApprovalState, run: ApplyRun | None, *, is_ready: bool) -> HeaderStep:
    needed = approval.needed
    if run is not None:
        return HeaderStep(_("approved"), StepState.DONE, _("by %(names)s") % {"names": ", ".join(approval.approved_by)})
    note = _("%(given)d of %(needed)d") % {"given": needed - approval.missing, "needed": needed}
    asked = _name_candidates(approval)
    note = f"{note} · {asked}" if asked else note
    if not is_ready:
        return HeaderStep(_("approve"), StepState.NEXT, note)
    if approval.missing:
        return HeaderStep(_("approve"), StepState.NOW, note)
    return HeaderStep(_("approved"), StepState.DONE, _("by %(names)s") % {"names": ", ".join(approval.approved_by)})


def _step_apply(plan: Plan, approval: ApprovalState, run: ApplyRun | None, *, is_approved: bool) -> HeaderStep:
    act, done = (_("delete"), _("deleted")) if is_deleting(plan) else (_("apply"), _("applied"))
    if is_patching(plan):
        act, done = _("patch"), _("patched")
    if run is None:
        state = StepState.NOW if is_approved else StepState.NEXT
        if approval.waiting is not None:
            return HeaderStep(_("scheduled"), state, approval.waiting.times)
        note = _("blocked by change window") if approval.closed else _("ready")
        return HeaderStep(act, state, note if is_approved else "")
    if run.state in RunState.unfinished():
        return HeaderStep(act, StepState.NOW, run.get_state_display())
    if run.state == RunState.APPLIED:
        return HeaderStep(done, StepState.DONE, _("run %(number)d") % {"number": run.number})
    return HeaderStep(act, StepState.BAD, run.get_state_display())


def _step_verify(run: ApplyRun | None) -> HeaderStep:
    if run is None or run.state != RunState.APPLIED:
        return HeaderStep(_("verified"), StepState.NEXT)
    if run.summary.get(Outcome.DIFFERS.value):
        return HeaderStep(_("verified"), StepState.BAD, _("live differs"))
    return HeaderStep(_("verified"), StepState.DONE, _("deleted") if is_deleting(run.plan) else _describe_rollouts(run))


def _describe_rollouts(run: ApplyRun) -> str:
    """Return whether rollouts were watched, for a run with workloads."""
    if not run.plan.changes.filter(kind__in=ROLLED_OUT, has_effect=True).exclude(operation__in=DELETIONS).exists():
        return ""
    return _("rollouts watched") if RunRules.from_json(run.rules).waits_for_rollout else _("rollouts not watched")


def _present_watched_track(plan: Plan, author: str) -> tuple[HeaderStep, ...]:
    """Return the steps of a review that another tool applies: planned here, applied there, verified here."""
    tool = plan.review.get_applied_by_display()
    looked = Verification.objects.filter(plan=plan, state=VerificationState.DONE).first()
    hidden = hidden_positions(plan)
    verdicts = {result["verdict"] for result in looked.results if result["position"] not in hidden} if looked else set()
    is_right = bool(verdicts) and verdicts == {VerificationResult.AS_REVIEWED.value}
    is_begun = bool(verdicts - {VerificationResult.NOT_YET.value})
    is_made = plan.state == PlanState.COMPLETE
    refused = plan.counts.get(Operation.BLOCKED, 0)
    note = ngettext("%(count)d object with conflicts", "%(count)d objects with conflicts", refused) % {"count": refused}
    verified = HeaderStep(_("verified"), StepState.DONE if is_right else StepState.BAD if is_begun else StepState.NEXT)
    return (
        HeaderStep(_("draft"), StepState.DONE, _("by %(name)s") % {"name": author}),
        HeaderStep(_("planned"), StepState.DONE if is_made else StepState.NOW, note if refused else ""),
        HeaderStep(_("applied"), StepState.DONE if is_begun else StepState.NEXT, _("by %(name)s") % {"name": tool}),
        verified,
    )


def present_track(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> tuple[HeaderStep, ...]:
    """Return the five steps."""
    author = plan.review.author.get_username()
    if plan.review.applied_by:
        return _present_watched_track(plan, author)
    planned = _step_plan(plan, approval, run)
    is_ready = planned.state is StepState.DONE
    return (
        HeaderStep(_("draft"), StepState.DONE, _("by %(name)s") % {"name": author}),
        planned,
        _step_approve(plan, approval, run, is_ready=is_ready),
        _step_apply(plan, approval, run, is_approved=is_ready and not approval.missing),
        _step_verify(run),
    )


def _describe(plan: Plan) -> str:
    text = ngettext(
        "plan %(number)d: %(count)d change to %(target)s",
        "plan %(number)d: %(count)d changes to %(target)s",
        count_effects(plan),
    )
    return text % {"number": plan.number, "count": count_effects(plan), "target": plan.target.cluster.name}


def _name_candidates(approval: ApprovalState) -> str:
    """Return whom to ask, if that is one or two people."""
    if not approval.missing or not 0 < len(approval.candidates) <= NAMED:
        return ""
    return _(" or ").join(approval.candidates)


def _present_preparation(approval: ApprovalState) -> tuple[str, str]:
    """Return text and address of what this person can do before the plan can be approved; "" for nothing."""
    if approval.conflicts:
        if not approval.can_replan:
            return "", ""
        text = ngettext("Resolve %(n)d conflict", "Resolve %(n)d conflicts", approval.conflicts)
        return text % {"n": approval.conflicts}, approval.conflict_url
    if approval.has_only_risks and approval.can_acknowledge:
        count = len({risk.kind for risk in approval.open_risks})
        return ngettext("Acknowledge %(n)d risk", "Acknowledge %(n)d risks", count) % {"n": count}, approval.risk_url
    if approval.unopened_url and not approval.plan_blockers:
        text = ngettext("View %(n)d high-risk object", "View %(n)d high-risk objects", approval.unopened)
        return text % {"n": approval.unopened}, approval.unopened_url
    return "", ""


def _present_approve(plan: Plan, approval: ApprovalState) -> Button:
    text = _("Approve plan %(number)d") % {"number": plan.number}
    blockers = tuple(Blocker(b, approval.link(b)) for b in approval.plan_blockers)
    if approval.has_approved and not approval.plan_blockers:
        return Button(note=_("You approved this plan; %(lacking)s.") % {"lacking": "; ".join(approval.lacking)})
    person = capfirst("; ".join(approval.person_blockers)) + "." if approval.person_blockers else ""
    if approval.unopened_url:
        opening = tuple(Blocker(b, approval.unopened_url) for b in approval.person_blockers)
        blockers, person = (*blockers, *opening), ""
    asked = _name_candidates(approval)
    act, url = _present_preparation(approval)
    if act:
        later = _("then %(names)s approves") % {"names": asked} if asked and person else ""
        return Button(act, url=url, blockers=blockers, note=later)
    if person and asked:
        person = f"{person} {_('Ask %(names)s.') % {'names': asked}}"
    if blockers or person:
        return Button(text, blockers=blockers, note=person)
    url = reverse("reviews:confirm-plan", args=[plan.review.number, plan.number])
    text = _("Approve plan %(number)d…") % {"number": plan.number}
    if approval.waiting is not None and approval.waiting.starts_on_approval:
        text = _("Approve and start run…")
    return Button(text, url=url, about=_describe(plan))


def _present_apply(plan: Plan, approval: ApprovalState) -> Button:
    text = ngettext("Apply %(count)d change", "Apply %(count)d changes", count_effects(plan))
    if is_deleting(plan):
        text = ngettext("Delete %(count)d object", "Delete %(count)d objects", count_effects(plan))
    if is_patching(plan):
        text = ngettext("Patch %(count)d object", "Patch %(count)d objects", count_effects(plan))
    text %= {"count": count_effects(plan)}
    if not approval.can_apply:
        return Button(text, note=_("An approver or operator can apply it."))
    if approval.closed:
        opens = date_format(localtime(approval.opens_at), "D j M Y H:i T") if approval.opens_at else ""
        note = _("The next change window opens at %(at)s.") % {"at": opens} if opens else ""
        return Button(text, blockers=tuple(Blocker(text) for text in approval.closed), note=note)
    note = _("The policy requires the run to wait until workloads are ready.") if approval.waits_for_rollout else ""
    url = reverse("reviews:apply-plan", args=[plan.review.number, plan.number])
    may_wait = can_wait(plan) and not approval.waits_for_rollout
    return Button(text, form_url=url, note=note, can_wait=may_wait, about=_describe(plan))


def _present_after_run(plan: Plan, approval: ApprovalState, run: ApplyRun) -> Button:
    """Return the button after a run that did not complete the plan: an author can re-plan."""
    url = reverse("runs:show-run", args=[run.number])
    if run.state in (RunState.STALE, RunState.FAILED, RunState.CANCELED) and approval.can_replan:
        text = _("Run %(number)d: %(state)s") % {"number": run.number, "state": run.get_state_display()}
        return Button(
            _("Re-plan"),
            form_url=reverse("reviews:replan", args=[plan.review.number]),
            blockers=(Blocker(text, url),),
        )
    return Button(_("View run %(number)d") % {"number": run.number}, url=url)


def present_button(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> Button:
    """Return the main button of the page."""
    if run is not None:
        return _present_after_run(plan, approval, run)
    if plan.state == PlanState.PLANNING:
        return Button(note=_("Planning…"))
    if plan.review.applied_by and plan.state == PlanState.COMPLETE:
        tool = plan.review.get_applied_by_display()
        return Button(note=_("Applied by %(tool)s. Verify afterwards.") % {"tool": tool})
    if plan.state == PlanState.FAILED:
        url = reverse("reviews:replan", args=[plan.review.number])
        return (
            Button(_("Re-plan"), form_url=url)
            if approval.can_write
            else Button(_("Re-plan"), note=_("An author can re-plan."))
        )
    if approval.has_asked:
        url = reverse("reviews:withdraw-request", args=[plan.review.number, plan.number])
        return Button(_("Withdraw request for changes"), form_url=url, note=_("This plan can't run until then."))
    if approval.is_outdated and approval.can_write:
        url = reverse("reviews:replan", args=[plan.review.number])
        return Button(_("Re-plan"), form_url=url, note=_("The policy changed since this plan was made."))
    if approval.manifests_url and (approval.objectors or plan.problems):
        text = tuple(Blocker(blocker, approval.link(blocker)) for blocker in approval.plan_blockers)
        return Button(_("Upload new manifests"), url=approval.manifests_url, blockers=text)
    if approval.missing or approval.plan_blockers:
        return _present_approve(plan, approval)
    return _present_apply(plan, approval)


def present_header(plan: Plan, options: ApplyOptions, approval: ApprovalState, run: ApplyRun | None) -> ReviewHeader:
    """Return the sticky header."""
    has_emergency = run is None and plan.state == PlanState.COMPLETE and not plan.review.applied_by
    return ReviewHeader(
        title=plan.review.title,
        review_id=plan.review.number,
        plan_number=plan.number,
        target=name_target(plan, options),
        mode=name_mode(options),
        manager=name_manager(options),
        identity=name_identity(plan),
        track=present_track(plan, approval, run),
        action=present_button(plan, approval, run),
        digest=plan.digest,
        emergency_url=approval.emergency_url if has_emergency else "",
        planned_at=plan.completed_at or plan.created_at,
        newer=_("Superseded by plan %(number)d") % {"number": approval.replaced_by} if approval.replaced_by else "",
        newer_url=approval.latest_url if approval.replaced_by else "",
        scheduled=approval.waiting.text if approval.waiting else "",
        cancel_url=approval.waiting.url if approval.waiting else "",
    )
