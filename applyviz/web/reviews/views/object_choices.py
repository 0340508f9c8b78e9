"""Choosing what the next plan does with single objects: each choice makes that plan."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.golang import read_digits
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.forms.object_choices import (
    AddonChoiceForm,
    LeaveOutForm,
    ObjectChoiceForm,
    ReplaceObjectsForm,
)
from applyviz.web.reviews.pages import object_offers, others
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.web.reviews.views.plan_guard import require_latest, requires_plan
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.plans import changes, live_values, object_choices, reviews
from applyviz.workflow.plans.object_choices import ObjectChoice


@requires_plan(Action.WRITE, "POST")
def choose(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Make the next plan, in which this object is replaced, or updated again."""
    require_latest(plan)
    form = ObjectChoiceForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose what to do with the object"))
    ref = changes.ref_of(live_values.get_row(plan, position))
    options = object_choices.choose(plan, [ref], form.chosen, form.propagation_chosen)
    following = reviews.replan_review(plan.review, by=request.user, options=options, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires_plan(Action.WRITE, "POST")
def replace_objects(request: PageRequest, plan: Plan) -> HttpResponse:
    """Make the next plan, in which several refused objects are replaced."""
    require_latest(plan)
    rows = object_offers.list_replaceable(plan, list_changes(plan))
    form = ReplaceObjectsForm(request.POST, positions=[row.position for row in rows])
    if not form.is_valid():
        raise NotValidError(_("choose refused objects that can be replaced"))
    refs = [changes.ref_of(row) for row in rows if row.position in form.cleaned_data["objects"]]
    options = object_choices.choose(plan, refs, ObjectChoice.REPLACE, form.propagation_chosen)
    following = reviews.replan_review(plan.review, by=request.user, options=options, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires_plan(Action.WRITE, "POST")
def choose_addon(request: PageRequest, plan: Plan) -> HttpResponse:
    """Make the next plan, in which an addon is planned although kOps skips it, skipped again, or marks nodes."""
    require_latest(plan)
    form = AddonChoiceForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose an addon of this plan"))
    options = object_choices.choose_addon(plan, form.cleaned_data["addon"], form.chosen)
    following = reviews.replan_review(plan.review, by=request.user, options=options, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires_plan(Action.WRITE, "GET", "POST")
def plan_others(request: PageRequest, plan: Plan) -> HttpResponse:
    """Choose the objects that the next plan leaves out, and make that plan."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    require_latest(plan)
    if plan.state != PlanState.COMPLETE:
        raise NotPossibleError(_("this plan is not finished; wait until it is, then choose"))
    page = others.present_page(plan)
    form = LeaveOutForm(request.POST or None, positions=page.positions, initial={"reason": page.reason})
    if request.method == "POST" and form.is_valid():
        rows = live_values.list_rows(plan, Q(position__in=form.cleaned_data["objects"]))
        refs = [changes.ref_of(row) for row in rows]
        try:
            options = object_choices.leave_out(plan, refs, form.cleaned_data["reason"])
        except NotValidError as error:
            form.add_error(None, str(error))
        else:
            following = reviews.replan_review(plan.review, by=request.user, options=options, seen=plan)
            return redirect("reviews:show-plan", plan.review.number, following.number)
    ticked = set(map(read_digits, request.POST.getlist("objects"))) if request.method == "POST" else None
    context = {"form": form, "page": page, "plan": plan, "ticked": ticked}
    return render(request, "reviews/plan_others.html", context, status=422 if request.method == "POST" else 200)
