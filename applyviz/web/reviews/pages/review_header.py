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

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.readiness.workloads import ROLLED_OUT
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import ClusterKind, Outcome, PlanState, RunState, VerificationResult, VerificationState
from applyviz.records.models import ApplyRun, Plan, Verification
from applyviz.web.reviews.pages.review_parts import Blocker, Button, HeaderStep, ReviewHeader, StepState
from applyviz.workflow.approvals.acknowledgements import OpenRisk
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.runs.rules import RunRules

MODE_WORDS: dict[ApplyMode, str | Promise] = {
    ApplyMode.CLIENT: gettext_lazy("client-side"),
    ApplyMode.SERVER: gettext_lazy("server-side"),
}


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
    calm = (Operation.UNCHANGED, Operation.BLOCKED, Operation.ERROR)
    return sum(number for operation, number in plan.counts.items() if operation not in calm)


def can_wait(plan: Plan) -> bool:
    """Return whether a run can wait until workloads are ready: in a sandbox no pod ever runs."""
    return plan.target.cluster.kind != ClusterKind.SANDBOX


def name_target(plan: Plan, options: ApplyOptions) -> str:
    """Return cluster and namespace as one text."""
    return f"{plan.target.cluster.name} / {options.namespace}"


def name_identity(plan: Plan) -> str:
    """Return the identity that a plan impersonates; "" for the cluster's own credential."""
    identity = impersonation.read_identity(plan)
    return "" if identity.is_own else str(identity)


def _name_stop(plan: Plan, standing: ApprovalState) -> str:
    """Return, in two words, what prevents the approval of a plan."""
    if standing.objectors:
        return _("changes requested")
    if standing.is_outdated:
        return _("policy changed")
    is_calm = not any(plan.counts.get(operation) for operation in (Operation.BLOCKED, Operation.ERROR))
    return _("nothing to apply") if is_calm and not count_effects(plan) else _("not complete")


def _step_plan(plan: Plan, standing: ApprovalState, run: ApplyRun | None) -> HeaderStep:
    if plan.state == PlanState.PLANNING:
        return HeaderStep(_("plan"), StepState.NOW, _("planning"))
    if plan.state == PlanState.FAILED:
        return HeaderStep(_("plan"), StepState.BAD, _("failed"))
    if standing.replaced_by and run is None:
        return HeaderStep(
            _("plan"), StepState.BAD, _("superseded by plan %(number)d") % {"number": standing.replaced_by}
        )
    refused = plan.counts.get(Operation.BLOCKED, 0)
    if refused:
        note = ngettext("%(count)d object with conflicts", "%(count)d objects with conflicts", refused) % {
            "count": refused
        }
        return HeaderStep(_("resolve"), StepState.NOW, note)
    if standing.has_only_risks and run is None:
        return HeaderStep(_("acknowledge"), StepState.NOW, standing.risk_blockers[0])
    if standing.plan_blockers and run is None:  # a plan that was run is spent, not incomplete
        return HeaderStep(_("plan"), StepState.NOW, _name_stop(plan, standing))
    return HeaderStep(_("planned"), StepState.DONE, _("no conflicts"))


def _step_approve(plan: Plan, standing: ApprovalState, run: ApplyRun | None, *, is_ready: bool) -> HeaderStep:
    needed = standing.needed
    if run is not None:
        return HeaderStep(_("approved"), StepState.DONE, _("by %(names)s") % {"names": ", ".join(standing.approved_by)})
    note = _("%(given)d of %(needed)d") % {"given": needed - standing.missing, "needed": needed}
    asked = _name_candidates(standing)
    note = f"{note} · {asked}" if asked else note
    if not is_ready:
        return HeaderStep(_("approve"), StepState.NEXT, note)
    if standing.missing:
        return HeaderStep(_("approve"), StepState.NOW, note)
    return HeaderStep(_("approved"), StepState.DONE, _("by %(names)s") % {"names": ", ".join(standing.approved_by)})


def _step_apply(run: ApplyRun | None, *, is_approved: bool, is_closed: bool) -> HeaderStep:
    if run is None:
        note = _("blocked by change window") if is_closed else _("ready")
        return HeaderStep(_("apply"), StepState.NOW if is_approved else StepState.NEXT, note if is_approved else "")
    if run.state in RunState.unfinished():
        return HeaderStep(_("apply"), StepState.NOW, run.get_state_display())
    if run.state == RunState.APPLIED:
        return HeaderStep(_("applied"), StepState.DONE, _("run %(number)d") % {"number": run.number})
    return HeaderStep(_("apply"), StepState.BAD, run.get_state_display())


def _step_verify(run: ApplyRun | None) -> HeaderStep:
    if run is None or run.state != RunState.APPLIED:
        return HeaderStep(_("verified"), StepState.NEXT)
    if run.summary.get(Outcome.DIFFERS.value):
        return HeaderStep(_("verified"), StepState.BAD, _("live differs"))
    return HeaderStep(_("verified"), StepState.DONE, _tell_rollouts(run))


def _tell_rollouts(run: ApplyRun) -> str:
    """Return whether rollouts were watched, for a run with workloads."""
    if not run.plan.changes.filter(kind__in=ROLLED_OUT, has_effect=True).exclude(operation=Operation.PRUNE).exists():
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


def present_track(plan: Plan, standing: ApprovalState, run: ApplyRun | None) -> tuple[HeaderStep, ...]:
    """Return the five steps."""
    author = plan.review.author.get_username()
    if plan.review.applied_by:
        return _present_watched_track(plan, author)
    planned = _step_plan(plan, standing, run)
    is_ready = planned.state is StepState.DONE
    return (
        HeaderStep(_("draft"), StepState.DONE, _("by %(name)s") % {"name": author}),
        planned,
        _step_approve(plan, standing, run, is_ready=is_ready),
        _step_apply(run, is_approved=is_ready and not standing.missing, is_closed=bool(standing.closed)),
        _step_verify(run),
    )


def _describe(plan: Plan) -> str:
    text = ngettext(
        "plan %(number)d: %(count)d change to %(target)s",
        "plan %(number)d: %(count)d changes to %(target)s",
        count_effects(plan),
    )
    return text % {"number": plan.number, "count": count_effects(plan), "target": plan.target.cluster.name}


def _name_candidates(standing: ApprovalState) -> str:
    """Return whom to ask, if that is one or two people."""
    if not standing.missing or not 0 < len(standing.candidates) <= NAMED:
        return ""
    return _(" or ").join(standing.candidates)


def _present_preparation(standing: ApprovalState) -> tuple[str, str]:
    """Return text and address of what this person can do before the plan can be approved; "" for nothing."""
    if standing.conflicts:
        if not standing.can_replan:
            return "", ""
        text = ngettext("Resolve %(n)d conflict", "Resolve %(n)d conflicts", standing.conflicts)
        return text % {"n": standing.conflicts}, standing.conflict_url
    if standing.has_only_risks and standing.can_acknowledge:
        count = len({risk.kind for risk in standing.open_risks})
        return ngettext("Acknowledge %(n)d risk", "Acknowledge %(n)d risks", count) % {"n": count}, standing.risk_url
    if standing.unopened_url and not standing.plan_blockers:
        text = ngettext("View %(n)d high-risk object", "View %(n)d high-risk objects", standing.unopened)
        return text % {"n": standing.unopened}, standing.unopened_url
    return "", ""


def _present_approve(plan: Plan, standing: ApprovalState) -> Button:
    text = _("Approve plan %(number)d") % {"number": plan.number}
    blockers = tuple(Blocker(b, standing.link(b)) for b in standing.plan_blockers)
    if standing.has_approved and not standing.plan_blockers:
        return Button(note=_("You approved this plan; %(lacking)s.") % {"lacking": "; ".join(standing.lacking)})
    person = capfirst("; ".join(standing.person_blockers)) + "." if standing.person_blockers else ""
    if standing.unopened_url:
        opening = tuple(Blocker(b, standing.unopened_url) for b in standing.person_blockers)
        blockers, person = (*blockers, *opening), ""
    asked = _name_candidates(standing)
    act, url = _present_preparation(standing)
    if act:
        later = _("then %(names)s approves") % {"names": asked} if asked and person else ""
        return Button(act, url=url, blockers=blockers, note=later)
    if person and asked:
        person = f"{person} {_('Ask %(names)s.') % {'names': asked}}"
    if blockers or person:
        return Button(text, blockers=blockers, note=person)
    url = reverse("reviews:confirm-plan", args=[plan.review.number, plan.number])
    return Button(_("Approve plan %(number)d…") % {"number": plan.number}, url=url, about=_describe(plan))


def _present_apply(plan: Plan, standing: ApprovalState) -> Button:
    text = ngettext("Apply %(count)d change", "Apply %(count)d changes", count_effects(plan))
    text %= {"count": count_effects(plan)}
    if not standing.can_apply:
        return Button(text, note=_("An approver or operator can apply it."))
    if standing.closed:
        opens = date_format(localtime(standing.opens_at), "D j M Y H:i T") if standing.opens_at else ""
        note = _("The next change window opens at %(at)s.") % {"at": opens} if opens else ""
        return Button(text, blockers=tuple(Blocker(text) for text in standing.closed), note=note)
    note = _("The policy requires the run to wait until workloads are ready.") if standing.waits_for_rollout else ""
    url = reverse("reviews:apply-plan", args=[plan.review.number, plan.number])
    may_wait = can_wait(plan) and not standing.waits_for_rollout
    return Button(text, form_url=url, note=note, can_wait=may_wait, about=_describe(plan))


def _present_after_run(plan: Plan, standing: ApprovalState, run: ApplyRun) -> Button:
    """Return the button after a run that did not complete the plan: an author can re-plan."""
    url = reverse("runs:show-run", args=[run.number])
    if run.state in (RunState.STALE, RunState.FAILED, RunState.CANCELED) and standing.can_replan:
        told = _("Run %(number)d: %(state)s") % {"number": run.number, "state": run.get_state_display()}
        return Button(
            _("Re-plan"),
            form_url=reverse("reviews:replan", args=[plan.review.number]),
            blockers=(Blocker(told, url),),
        )
    return Button(_("View run %(number)d") % {"number": run.number}, url=url)


def present_button(plan: Plan, standing: ApprovalState, run: ApplyRun | None) -> Button:
    """Return the main button of the page."""
    if run is not None:
        return _present_after_run(plan, standing, run)
    if plan.state == PlanState.PLANNING:
        return Button(note=_("Planning…"))
    if plan.review.applied_by and plan.state == PlanState.COMPLETE:
        tool = plan.review.get_applied_by_display()
        return Button(note=_("Applied by %(tool)s. Verify afterwards.") % {"tool": tool})
    if plan.state == PlanState.FAILED:
        url = reverse("reviews:replan", args=[plan.review.number])
        return (
            Button(_("Re-plan"), form_url=url)
            if standing.can_write
            else Button(_("Re-plan"), note=_("An author can re-plan."))
        )
    if standing.has_asked:
        url = reverse("reviews:withdraw-request", args=[plan.review.number, plan.number])
        return Button(_("Withdraw request for changes"), form_url=url, note=_("This plan can't run until then."))
    if standing.is_outdated and standing.can_write:
        url = reverse("reviews:replan", args=[plan.review.number])
        return Button(_("Re-plan"), form_url=url, note=_("The policy changed since this plan was made."))
    if standing.manifests_url and (standing.objectors or plan.problems):
        told = tuple(Blocker(blocker, standing.link(blocker)) for blocker in standing.plan_blockers)
        return Button(_("Upload new manifests"), url=standing.manifests_url, blockers=told)
    if standing.missing or standing.plan_blockers:
        return _present_approve(plan, standing)
    return _present_apply(plan, standing)


def present_header(plan: Plan, options: ApplyOptions, standing: ApprovalState, run: ApplyRun | None) -> ReviewHeader:
    """Return the sticky header."""
    has_emergency = run is None and plan.state == PlanState.COMPLETE and not plan.review.applied_by
    return ReviewHeader(
        title=plan.review.title,
        review_id=plan.review.number,
        plan_number=plan.number,
        target=name_target(plan, options),
        mode=MODE_WORDS[options.mode],
        manager=options.field_manager,
        identity=name_identity(plan),
        track=present_track(plan, standing, run),
        action=present_button(plan, standing, run),
        digest=plan.digest,
        emergency_url=standing.emergency_url if has_emergency else "",
        planned_at=plan.completed_at or plan.created_at,
        newer=_("Superseded by plan %(number)d") % {"number": standing.replaced_by} if standing.replaced_by else "",
        newer_url=standing.latest_url if standing.replaced_by else "",
    )
