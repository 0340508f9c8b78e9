"""The sticky header of a review: its steps, and the main button or why it is disabled.

Its blockers and its step come from `workflow.approvals.plan_facts`; here are their words.
"""

from __future__ import annotations

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.engine.readiness.workloads import ROLLED_OUT
from applyviz.records.enums import Outcome, PlanState, ReviewState, RunState, VerificationResult, VerificationState
from applyviz.records.models import ApplyRun, Plan, Verification
from applyviz.web.components.plan_counts import count_effects
from applyviz.web.reviews.pages.approval_state import ApprovalState, describe_start, disable_planning
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pages.plan_names import (
    can_wait,
    is_being_planned,
    is_deleting,
    is_patching,
    name_identity,
    name_manager,
    name_mode,
    name_target,
)
from applyviz.web.reviews.pages.review_parts import Blocker, Button, HeaderStep, ReviewHeader, StepState
from applyviz.workflow.approvals.next_steps import (
    AcknowledgeRisks,
    ApplyPlan,
    ApprovePlan,
    AwaitOthers,
    AwaitPlan,
    NextStep,
    OpenNewerPlan,
    OpenRun,
    Replan,
    ResolveConflicts,
    StepOwner,
    UploadManifests,
    VerifyElsewhere,
    ViewObjects,
    WithdrawRequest,
)
from applyviz.workflow.approvals.plan_facts import PlanFacts
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.blockers import (
    ChangesRequested,
    ConflictsOpen,
    NothingToApply,
    ObjectsUnviewed,
    PlanSuperseded,
    PolicyChanged,
    RisksOpen,
)
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.runs.rules import RunRules

NAMED = 2


def _name_stop(plan: Plan, facts: PlanFacts) -> str:
    """Return, in two words, what prevents the approval of a plan."""
    kinds = {type(blocker) for blocker in facts.blockers}
    if ChangesRequested in kinds:
        return _("changes requested")
    if PolicyChanged in kinds:
        return _("policy changed")
    if NothingToApply not in kinds:
        return _("not complete")
    return _("nothing to delete") if is_deleting(plan) else _("nothing to apply")


def _step_plan(plan: Plan, facts: PlanFacts, run: ApplyRun | None) -> HeaderStep:
    if plan.state == PlanState.FAILED:
        return HeaderStep(_("plan"), StepState.BAD, _("failed"))
    if facts.newer and run is None:
        return HeaderStep(_("plan"), StepState.BAD, _("superseded by plan %(number)d") % {"number": facts.newer})
    if plan.review.state == ReviewState.CLOSED and run is None:
        return HeaderStep(_("closed"), StepState.BAD)
    if plan.state == PlanState.PLANNING:
        return HeaderStep(_("plan"), StepState.NOW, _("planning") if plan.expected else _("reading"))
    if plan.counts.get(Operation.BLOCKED, 0):
        note = _("%(author)s is next") % {"author": plan.review.author.get_username()}
        return HeaderStep(_("resolve"), StepState.NOW, note)
    if facts.has_only_risks and run is None:
        return HeaderStep(_("acknowledge"), StepState.NOW, sentences.describe(facts.blockers[0]))
    if facts.blockers and run is None:  # a plan that was run is spent, not incomplete
        return HeaderStep(_("plan"), StepState.NOW, _name_stop(plan, facts))
    return HeaderStep(_("planned"), StepState.DONE, _("no open conflicts"))


def _name_asked(awaited: tuple[str, ...]) -> str:
    """Return who was asked for a review, short enough for a step: the Overview lists all of them."""
    more = len(awaited) - NAMED
    names = ", ".join(awaited[:NAMED]) + (f" +{more}" if more > 0 else "")
    return _("asked: %(names)s") % {"names": names} if awaited else ""


def _step_approved(approval: ApprovalState, *, is_required: bool) -> HeaderStep:
    """Return the step when no approval is missing: the names of the approvers, or that none was given."""
    names = ", ".join(approval.approved_by)
    if names:
        return HeaderStep(_("approved"), StepState.DONE, _("by %(names)s") % {"names": names})
    return HeaderStep(_("approve"), StepState.NEXT, _("without approval") if is_required else _("not required"))


def _step_approve(plan: Plan, approval: ApprovalState, run: ApplyRun | None, *, is_ready: bool) -> HeaderStep:
    needed = approval.facts.quorum.needed
    if run is not None:
        return _step_approved(approval, is_required=True)
    if plan.review.state == ReviewState.CLOSED:
        return HeaderStep(_("approve"), StepState.NEXT)
    note = _("%(given)d of %(needed)d") % {"given": needed - approval.missing, "needed": needed}
    asked = _name_asked(approval.facts.awaited) or _name_candidates(approval)
    note = f"{note} · {asked}" if asked else note
    if not is_ready:
        return HeaderStep(_("approve"), StepState.NEXT, note)
    if approval.missing:
        return HeaderStep(_("approve"), StepState.NOW, note)
    return _step_approved(approval, is_required=False)


def _step_apply(plan: Plan, approval: ApprovalState, run: ApplyRun | None, *, is_approved: bool) -> HeaderStep:
    act, done = (_("delete"), _("deleted")) if is_deleting(plan) else (_("apply"), _("applied"))
    if is_patching(plan):
        act, done = _("patch"), _("patched")
    if run is None:
        state = StepState.NOW if is_approved else StepState.NEXT
        if approval.waiting is not None:
            return HeaderStep(_("scheduled"), state, approval.waiting.times)
        return HeaderStep(act, state, describe_start(plan, approval.facts) if is_approved else "")
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
    made = StepState.NOW if is_being_planned(plan) else StepState.BAD
    refused = plan.counts.get(Operation.BLOCKED, 0)
    note = ngettext("%(count)d object with conflicts", "%(count)d objects with conflicts", refused) % {"count": refused}
    return (
        HeaderStep(_("draft"), StepState.DONE, _("by %(name)s") % {"name": author}),
        HeaderStep(_("planned"), StepState.DONE if plan.state == PlanState.COMPLETE else made, note if refused else ""),
        HeaderStep(_("applied"), StepState.DONE if is_begun else StepState.NEXT, _("by %(name)s") % {"name": tool}),
        HeaderStep(_("verified"), StepState.DONE if is_right else StepState.BAD if is_begun else StepState.NEXT),
    )


def present_track(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> tuple[HeaderStep, ...]:
    """Return the five steps."""
    author = plan.review.author.get_username()
    if plan.review.applied_by:
        return _present_watched_track(plan, author)
    planned = _step_plan(plan, approval.facts, run)
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
    """Return the requested reviewers who are waited for; without any, whom to ask, if that is one or two people."""
    awaited = approval.facts.awaited
    if len(awaited) > NAMED:
        more = len(awaited) - NAMED
        text = ngettext("%(names)s or %(n)d more", "%(names)s or %(n)d more", more)
        return text % {"names": ", ".join(awaited[:NAMED]), "n": more}
    if awaited:
        return _(" or ").join(awaited)
    if not approval.missing or not 0 < len(approval.facts.candidates) <= NAMED:
        return ""
    return _(" or ").join(approval.facts.candidates)


def _name_awaited(approval: ApprovalState) -> str:
    """Return the sentence that names the awaited reviewers; "" without a requested reviewer."""
    names = _name_candidates(approval)
    return _("Waiting for %(name)s.") % {"name": names} if approval.facts.awaited else ""


def _note_request(approval: ApprovalState) -> str:
    return _("Your review was requested.") if approval.facts.is_asked else ""


def _join_own(approval: ApprovalState) -> str:
    """Return why this person may not approve, as a sentence; "" when they may."""
    own = approval.facts.own
    return capfirst(sentences.join_clauses(own)) + "." if own and not approval.facts.unviewed else ""


def _list_all(approval: ApprovalState) -> tuple[Blocker, ...]:
    """Return the blockers of the plan, and what this person can view meanwhile."""
    unviewed = (one for one in approval.facts.own if isinstance(one, ObjectsUnviewed))
    return approval.list_blockers((*approval.facts.blockers, *unviewed))


def _present_preparation(approval: ApprovalState, text: str, url: str) -> Button:
    """Return the button of what this person does before the plan can be approved, and who approves then."""
    asked = _name_candidates(approval)
    later = _("then %(names)s approves") % {"names": asked} if asked and _join_own(approval) else ""
    return Button(text, url=url, blockers=_list_all(approval), note=later or _note_request(approval))


def _present_blocked_approval(plan: Plan, approval: ApprovalState, whose: StepOwner) -> Button:
    """Return the button of an approval that this person cannot give now, and whom it waits for."""
    facts, asked = approval.facts, _name_candidates(approval)
    if facts.reader.has_approved and not facts.blockers:
        lacking = sentences.join_clauses(facts.quorum.lacking)
        given = _("You approved this plan; %(lacking)s.") % {"lacking": lacking}
        return Button(note=" ".join(filter(None, (given, _name_awaited(approval)))))
    notes = [_join_own(approval)]
    if whose is StepOwner.AUTHOR:
        notes.append(_("Waiting for %(name)s.") % {"name": plan.review.author.get_username()})
    elif facts.awaited:
        notes.append(_name_awaited(approval))
    elif notes[0] and asked:
        notes.append(_("Ask %(names)s.") % {"names": asked})
    text = _("Approve plan %(number)d") % {"number": plan.number}
    return Button(text, blockers=_list_all(approval), note=" ".join(filter(None, notes)))


def _present_approve(plan: Plan, approval: ApprovalState) -> Button:
    note = _note_request(approval)
    url = reverse("reviews:confirm-plan", args=[plan.review.number, plan.number])
    text = _("Approve plan %(number)d…") % {"number": plan.number}
    if approval.waiting is not None and approval.waiting.starts_on_approval:
        text = _("Approve and start run…")
    return Button(text, url=url, about=_describe(plan), note=note)


def _name_start(plan: Plan) -> str:
    count = count_effects(plan)
    text = ngettext("Apply %(count)d change", "Apply %(count)d changes", count)
    if is_deleting(plan):
        text = ngettext("Delete %(count)d object", "Delete %(count)d objects", count)
    if is_patching(plan):
        text = ngettext("Patch %(count)d object", "Patch %(count)d objects", count)
    return text % {"count": count}


def _present_closed(plan: Plan, approval: ApprovalState) -> Button:
    opens = date_format(localtime(approval.opens_at), "D j M Y H:i T") if approval.opens_at else ""
    note = _("The next change window opens at %(at)s.") % {"at": opens} if opens else ""
    return Button(_name_start(plan), blockers=approval.list_blockers(approval.facts.closed), note=note)


def _present_apply(plan: Plan, approval: ApprovalState) -> Button:
    must_wait = approval.facts.quorum.policy.waits_for_rollout
    note = _("The policy requires the run to wait until workloads are ready.") if must_wait else ""
    url = reverse("reviews:apply-plan", args=[plan.review.number, plan.number])
    may_wait = can_wait(plan) and not must_wait
    return Button(_name_start(plan), form_url=url, note=note, can_wait=may_wait, about=_describe(plan))


def _present_replan(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> Button:
    """Return the button that makes a new plan, and why: how the run ended, or what changed since."""
    blockers = approval.list_blockers(approval.facts.blockers) if plan.state == PlanState.COMPLETE else ()
    if run is not None:
        text = _("Run %(number)d: %(state)s") % {"number": run.number, "state": run.get_state_display()}
        blockers = (Blocker(text, reverse("runs:show-run", args=[run.number])),)
    return Button(
        _("Re-plan"), form_url=reverse("reviews:replan", args=[plan.review.number, plan.number]), blockers=blockers
    )


def _present_others(plan: Plan, approval: ApprovalState, whose: StepOwner) -> Button:
    """Return the button of a step that belongs to somebody else, or to a later moment."""
    if plan.review.state == ReviewState.CLOSED:
        return Button(note=_("This review is closed."))
    if plan.state == PlanState.FAILED:
        return Button(_("Re-plan"), note=_("An author can re-plan."))
    if whose not in (StepOwner.STARTERS, StepOwner.TIME):
        return _present_blocked_approval(plan, approval, whose)
    if approval.facts.closed:
        return _present_closed(plan, approval)
    return Button(_name_start(plan), note=_("An approver or operator can apply it."))


def _present_mending(plan: Plan, approval: ApprovalState, step: NextStep) -> Button | None:
    """Return the button of a step that takes the plan towards its approval; None for any other step."""
    match step:
        case WithdrawRequest():
            url = reverse("reviews:withdraw-request", args=[plan.review.number, plan.number])
            return Button(_("Withdraw request for changes"), form_url=url, note=_("This plan can't run until then."))
        case UploadManifests():
            blockers = approval.list_blockers(approval.facts.blockers)
            return Button(_("Upload new manifests"), url=approval.manifests_url, blockers=blockers)
        case ResolveConflicts(count=count):
            text = ngettext("Resolve %(n)d conflict", "Resolve %(n)d conflicts", count) % {"n": count}
            return _present_preparation(approval, text, approval.link_first(ConflictsOpen))
        case AcknowledgeRisks(count=count):
            text = ngettext("Acknowledge %(n)d risk", "Acknowledge %(n)d risks", count) % {"n": count}
            return _present_preparation(approval, text, approval.link_first(RisksOpen))
        case ViewObjects(positions=positions):
            text = ngettext("View %(n)d high-risk object", "View %(n)d high-risk objects", len(positions))
            return _present_preparation(approval, text % {"n": len(positions)}, approval.link_first(ObjectsUnviewed))
        case _:
            return None


def present_button(plan: Plan, approval: ApprovalState, run: ApplyRun | None) -> Button:
    """Return the main button of the page: the next step of this person."""
    step = approval.facts.next
    match step:
        case OpenRun(number=number):
            return Button(_("View run %(number)d") % {"number": number}, url=reverse("runs:show-run", args=[number]))
        case OpenNewerPlan(number=number):
            return Button(_("Go to plan %(number)d") % {"number": number}, url=approval.link_first(PlanSuperseded))
        case AwaitPlan():
            return Button(note=_("Planning…") if plan.expected else _("Reading…"))
        case VerifyElsewhere():
            tool = plan.review.get_applied_by_display()
            return Button(note=_("Applied by %(tool)s. Verify afterwards.") % {"tool": tool})
        case Replan():
            return _present_replan(plan, approval, run)
        case ApprovePlan():
            return _present_approve(plan, approval)
        case ApplyPlan():
            return _present_apply(plan, approval)
        case AwaitOthers(whose=whose):
            return _present_others(plan, approval, whose)
        case _:
            return _present_mending(plan, approval, step) or Button()


def present_header(context: PlanContext, approval: ApprovalState) -> ReviewHeader:
    """Return the sticky header."""
    plan, options, run = context.plan, context.options, context.run
    is_open = plan.review.state == ReviewState.OPEN and not plan.review.applied_by
    has_emergency = run is None and plan.state == PlanState.COMPLETE and is_open
    return ReviewHeader(
        title=plan.review.title,
        review_id=plan.review.number,
        plan_number=plan.number,
        target=name_target(plan, options, context.changes),
        mode=name_mode(options),
        manager=name_manager(options),
        identity=name_identity(plan),
        track=present_track(plan, approval, run),
        action=disable_planning(present_button(plan, approval, run), approval),
        digest=plan.digest,
        emergency_url=approval.emergency_url if has_emergency else "",
        planned_at=plan.completed_at if plan.state == PlanState.COMPLETE else None,
        requested_at=plan.created_at,
        newer=_("Superseded by plan %(number)d") % {"number": approval.facts.newer} if approval.facts.newer else "",
        newer_url=approval.link_first(PlanSuperseded),
        scheduled=approval.waiting.text if approval.waiting else "",
        cancel_url=approval.waiting.url if approval.waiting else "",
    )
