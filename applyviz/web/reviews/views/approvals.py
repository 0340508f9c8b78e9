"""Approvals: the page that shows what exactly is approved, and the approval itself."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.models import Plan
from applyviz.web.frame import reauthentication
from applyviz.web.frame.view_guard import PageRequest, is_fragment, lead
from applyviz.web.reviews.forms.reviews import ApprovalAct, ApprovalForm, DigestForm, EmergencyApplyForm
from applyviz.web.reviews.pages.approve_page import present_confirmation
from applyviz.web.reviews.pages.comments import find_place
from applyviz.web.reviews.pages.plan_names import can_wait
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.web.runs.forms import DAY, ScheduleForm
from applyviz.web.runs.pages.scheduled_starts import present_schedule
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import approving, comments
from applyviz.workflow.approvals.plan_blockers import list_change_requests
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError, WorkflowError
from applyviz.workflow.runs import emergency_apply


def _is_proved(request: PageRequest, plan: Plan, form: ApprovalForm | ScheduleForm) -> bool:
    """Return whether the approver of a high-risk plan reauthenticated recently, or does so now."""
    if isinstance(form, ApprovalForm) and form.act in (ApprovalAct.CHANGES, ApprovalAct.COMMENT):
        return True
    if not reauthentication.is_asked_for(request, plan):
        return True
    if not form.cleaned_data["password"]:
        form.add_error("password", _("Enter your password: this plan has high risks."))
        return False
    wrong = reauthentication.reauthenticate(request, form.cleaned_data["password"])
    if wrong:
        form.add_error("password", wrong)
    return not wrong


def _approve(request: PageRequest, plan: Plan, form: ApprovalForm) -> HttpResponse:
    digest, note = form.cleaned_data["digest"], form.cleaned_data["note"]
    match form.act:
        case ApprovalAct.APPLY:
            waits = form.cleaned_data["waits"]
            run = runs.approve_and_run(plan, by=request.user, digest=digest, note=note, waits_for_rollout=waits)
            return lead(request, reverse("runs:show-run", args=[run.number]))
        case ApprovalAct.SCHEDULE:
            last = clock.now() + timedelta(hours=DAY)
            waits = form.cleaned_data["waits"]
            runs.approve_and_schedule(
                plan, by=request.user, digest=digest, note=note, expires_at=last, waits_for_rollout=waits
            )
            messages.success(
                request, _("You approved plan %(number)d and scheduled its run.") % {"number": plan.number}
            )
        case ApprovalAct.CHANGES:
            approving.request_changes(plan, by=request.user, digest=digest, note=note)
            messages.success(request, _("Changes requested. The plan is blocked until you withdraw the request."))
        case ApprovalAct.COMMENT:
            access.require(request.user, Action.COMMENT, access.scopes_of(plan.review))
            made = comments.add_comment(plan, by=request.user, content=comments.check_content(note))
            return lead(request, find_place(made, plan, None))
        case ApprovalAct.APPROVE:
            approving.approve_plan(plan, by=request.user, digest=digest, note=note)
            messages.success(request, _("You approved plan %(number)d.") % {"number": plan.number})
    return lead(request, reverse("reviews:show-plan", args=[plan.review.number, plan.number]))


def _try_to_approve(request: PageRequest, plan: Plan, form: ApprovalForm) -> HttpResponse | None:
    """Approve the plan; if that is no longer possible, add the reason to the form, which keeps its input.

    - Raises `NotPossibleError` if the form was shown for another digest.
    """
    try:
        return _approve(request, plan, form)
    except NotPossibleError as error:
        if form.cleaned_data["digest"] != plan.digest:
            raise
        form.add_error(None, _("Nothing was recorded: %(reason)s") % {"reason": error})
        return None


@requires_plan(Action.APPROVE, "GET", "POST")
def confirm_plan(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show what exactly is approved, as a page or in the sheet; a POST names the digest that was shown."""
    form, status = ApprovalForm(request.POST or None), 422 if request.method == "POST" else 200
    if request.method == "POST" and form.is_valid() and _is_proved(request, plan, form):
        answer = _try_to_approve(request, plan, form)
        if answer is not None:
            return answer
        status = 409
    page = present_confirmation(plan, for_user=request.user)
    choice = request.POST.get("then") or page.first_act
    context = {
        "form": form,
        "page": page,
        "is_sheet": is_fragment(request),
        "choice": choice,
        "keeps_approval": page.may_approve_later and choice == ApprovalAct.APPROVE,
        "applies": "applies" in request.POST,
        "asks_proof": reauthentication.is_asked_for(request, plan),
    }
    name = "reviews/_approve_form.html" if is_fragment(request) else "reviews/approve.html"
    return render(request, name, context, status=status)


@requires_plan(Action.APPROVE, "POST")
def revoke(request: PageRequest, plan: Plan) -> HttpResponse:
    """Revoke the person's own approval."""
    mine = next((a for a in list_valid_approvals(plan) if a.by_id == request.user.pk), None)
    if mine is None:
        raise NotPossibleError(_("you have no approval on this plan"))
    approving.revoke_approval(mine, by=request.user)
    messages.success(request, _("Approval revoked."))
    return redirect("reviews:show-plan", plan.review.number, plan.number)


@requires_plan(Action.APPLY, "POST")
def apply_plan(request: PageRequest, plan: Plan) -> HttpResponse:
    """Start applying an approved plan, by the digest that was shown."""
    form = DigestForm(request.POST)
    if not form.is_valid():
        raise NotPossibleError(_("this plan has changed; reload the page and review again"))
    if reauthentication.is_asked_for(request, plan):
        back = reverse("reviews:show-plan", args=[plan.review.number, plan.number])
        return redirect(f"{reverse('reauthenticate')}?{urlencode({'next': back})}")
    given = form.cleaned_data
    run = runs.start_run(plan, by=request.user, digest=given["digest"], waits_for_rollout=given["waits"])
    return redirect("runs:show-run", run.number)


@requires_plan(Action.APPLY, "GET", "POST")
def schedule(request: PageRequest, plan: Plan) -> HttpResponse:
    """Schedule the start of a run; a POST names the digest that was shown."""
    form = ScheduleForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _is_proved(request, plan, form):
        first, last = form.times
        try:
            runs.schedule_start(
                plan,
                by=request.user,
                digest=form.cleaned_data["digest"],
                not_before=first,
                expires_at=last,
                waits_for_rollout=form.cleaned_data["waits"],
            )
        except WorkflowError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("The run of plan %(number)d is scheduled.") % {"number": plan.number})
            return redirect("reviews:show-overview", plan.review.number, plan.number)
    page = present_schedule(plan, for_user=request.user)
    context = {
        "form": form,
        "page": page,
        "can_wait": can_wait(plan),
        "asks_proof": reauthentication.is_asked_for(request, plan),
    }
    return render(request, "runs/schedule.html", context, status=422 if request.method == "POST" else 200)


@requires_plan(Action.VIEW, "POST")
def cancel_start(request: PageRequest, plan: Plan) -> HttpResponse:
    """Cancel the scheduled start of a run."""
    runs.cancel_start(plan, by=request.user)
    messages.success(request, _("The scheduled start is canceled."))
    return redirect("reviews:show-overview", plan.review.number, plan.number)


@requires_plan(Action.VIEW, "POST")
def withdraw(request: PageRequest, plan: Plan) -> HttpResponse:
    """Withdraw the person's own change request."""
    mine = next((o for o in list_change_requests(plan) if o.by_id == request.user.pk), None)
    if mine is None:
        raise NotPossibleError(_("you have no open request for changes"))
    approving.withdraw_request(mine, by=request.user)
    messages.success(request, _("Request for changes withdrawn."))
    return redirect("reviews:show-plan", plan.review.number, plan.number)


@requires_plan(Action.BREAK_GLASS, "GET", "POST")
def start_emergency_apply(request: PageRequest, plan: Plan) -> HttpResponse:
    """Start an emergency apply; needs a reason, a ticket and the password every time."""
    access.require(request.user, Action.BREAK_GLASS, access.scopes_of(plan.review))
    form = EmergencyApplyForm(request.POST or None, initial={"digest": plan.digest})
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        wrong = reauthentication.reauthenticate(request, given.pop("password"))
        if not wrong:
            try:
                run = emergency_apply.start_emergency_apply(plan, by=request.user, **given)
            except WorkflowError as error:
                form.add_error(None, str(error))
            else:
                return redirect("runs:show-run", run.number)
        else:
            form.add_error("password", wrong)
    context = {
        "form": form,
        "page": present_confirmation(plan, for_user=request.user),
        "blockers": sentences.describe_all(emergency_apply.find_break_glass_blockers(plan)),
        "lifted": sentences.describe_all(emergency_apply.list_lifted(plan, policies.find_policy(plan))),
        "administrators": [person.get_username() for person in emergency_apply.list_administrators()],
    }
    return render(request, "reviews/emergency_apply.html", context, status=422 if request.method == "POST" else 200)
