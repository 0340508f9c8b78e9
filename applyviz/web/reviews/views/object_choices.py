"""Choosing what the next plan does with single objects: each choice makes that plan."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.golang import read_digits
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.reviews.forms.object_choices import (
    AddonChoiceForm,
    LeaveOutForm,
    ObjectChoiceForm,
    ReplaceObjectsForm,
)
from applyviz.web.reviews.pages import object_offers, others
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.plans import changes, live_values, object_choices, planner, reviews
from applyviz.workflow.plans.object_choices import ObjectChoice


def _require_latest(plan: Plan) -> None:
    latest = plan.review.latest_plan
    if latest is None or latest.pk != plan.pk:
        raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))


@requires(Action.WRITE, "POST")
def choose(request: PageRequest, number: int, plan: int, position: int) -> HttpResponse:
    """Make the next plan, in which this object is replaced, or updated again."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    _require_latest(found)
    form = ObjectChoiceForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose what to do with the object"))
    ref = changes.ref_of(live_values.get_row(found, position))
    options = object_choices.choose(found, [ref], form.chosen, form.propagation_chosen)
    following = reviews.replan_review(found.review, by=request.user, options=options, seen=found)
    return redirect("reviews:show-plan", number, following.number)


@requires(Action.WRITE, "POST")
def replace_objects(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Make the next plan, in which several refused objects are replaced."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    _require_latest(found)
    rows = object_offers.list_replaceable(found, list_changes(found))
    form = ReplaceObjectsForm(request.POST, positions=[row.position for row in rows])
    if not form.is_valid():
        raise NotValidError(_("choose refused objects that can be replaced"))
    refs = [changes.ref_of(row) for row in rows if row.position in form.cleaned_data["objects"]]
    options = object_choices.choose(found, refs, ObjectChoice.REPLACE, form.propagation_chosen)
    following = reviews.replan_review(found.review, by=request.user, options=options, seen=found)
    return redirect("reviews:show-plan", number, following.number)


@requires(Action.WRITE, "POST")
def choose_addon(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Make the next plan, in which an addon is planned although kOps skips it, skipped again, or marks nodes."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    _require_latest(found)
    form = AddonChoiceForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose an addon of this plan"))
    options = object_choices.choose_addon(found, form.cleaned_data["addon"], form.chosen)
    following = reviews.replan_review(found.review, by=request.user, options=options, seen=found)
    return redirect("reviews:show-plan", number, following.number)


@requires(Action.WRITE, "GET", "POST")
def plan_others(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Choose the objects that the next plan leaves out, and make that plan."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    access.require(request.user, Action.WRITE, access.scopes_of(found.review))
    _require_latest(found)
    if found.state != PlanState.COMPLETE:
        raise NotPossibleError(_("this plan is not finished; wait until it is, then choose"))
    page = others.present_page(found)
    form = LeaveOutForm(request.POST or None, positions=page.positions, initial={"reason": page.reason})
    if request.method == "POST" and form.is_valid():
        rows = live_values.list_rows(found, Q(position__in=form.cleaned_data["objects"]))
        refs = [changes.ref_of(row) for row in rows]
        try:
            options = object_choices.leave_out(found, refs, form.cleaned_data["reason"])
        except NotValidError as error:
            form.add_error(None, str(error))
        else:
            following = reviews.replan_review(found.review, by=request.user, options=options, seen=found)
            return redirect("reviews:show-plan", number, following.number)
    ticked = set(map(read_digits, request.POST.getlist("objects"))) if request.method == "POST" else None
    context = {"form": form, "page": page, "plan": found, "ticked": ticked}
    return render(request, "reviews/plan_others.html", context, status=422 if request.method == "POST" else 200)
