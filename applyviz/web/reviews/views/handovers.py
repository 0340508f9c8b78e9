"""Moving field ownership: fields that a manifest gives up or takes, and managers whose fields the next plan moves.

The last-applied annotation of a live object is also edited here, by a separate review.
"""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import HANDOVER_MANAGER, ApplyMode
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.forms.ownership import FieldsForm, HandOverForm, LastAppliedForm, ManagersForm
from applyviz.web.reviews.pages import ownership_moves as pages
from applyviz.web.reviews.pages.last_applied import present_last_applied
from applyviz.web.reviews.pages.sources.found_objects import read_source
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans import handovers, last_applied, live_values, ownership_moves
from applyviz.workflow.plans.intake import ReviewInput


def _answer(request: PageRequest, template: str, context: dict[str, object]) -> HttpResponse:
    return render(request, template, context, status=422 if request.method == "POST" else 200)


@requires_plan(Action.WRITE, "GET", "POST")
def hand_over(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Choose the fields that an object gives up; the next plan gives them up without a change of their values."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    change = live_values.read_change(plan, position)
    paths = handovers.list_fields(plan, change)
    given = handovers.list_given_up(plan, change.ref)
    asked = request.GET.get("field", "")
    ticked = [
        str(n) for n, path in enumerate(paths) if path in {one.path for one in given} or render_path(path) == asked
    ]
    manager = given[0].manager if given else HANDOVER_MANAGER
    others = {one.path: one.manager for one in given if one.manager != manager}
    first = {"fields_given": ticked, "manager": manager}
    form = HandOverForm(request.POST or None, paths=paths, managers=others, initial=first)
    if request.method == "POST" and form.is_valid():
        made = handovers.hand_over(plan, change, form.chosen, manager=form.cleaned_data["manager"], by=request.user)
        return redirect("reviews:show-plan", plan.review.number, made.number)
    context = {
        "form": form,
        "kind": change.ref.gvk.kind,
        "name": change.ref.name,
        "is_new": change.versions.live is None,
        "is_server_side": options_from_json(plan.options).mode is ApplyMode.SERVER,
        "manager_help": _("Enter the field manager of its next write, or keep this one for an autoscaler."),
        "back_url": link_alone(plan, position),
    }
    return _answer(request, "reviews/hand_over.html", context)


@requires_plan(Action.WRITE, "GET", "POST")
def take_fields(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Choose the fields that a manifest takes from others with their live values, and make that plan."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    change = live_values.read_change(plan, position)
    page = pages.present_live_fields(plan, change)
    form = FieldsForm(request.POST or None, paths=page.paths)
    if request.method == "POST" and form.is_valid():
        made = handovers.take_fields(plan, change, form.chosen, by=request.user)
        return redirect("reviews:show-plan", plan.review.number, made.number)
    context: dict[str, object] = {"form": form, "page": page, "back_url": link_alone(plan, position)}
    return _answer(request, "reviews/take_fields.html", context)


@requires_plan(Action.WRITE, "GET", "POST")
def move_ownership(request: PageRequest, plan: Plan) -> HttpResponse:
    """Choose the field managers whose fields the next plan moves, and make that plan."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    ownership_moves.require_open(plan)
    page = pages.present_managers(plan)
    form = ManagersForm(request.POST or None, names=[one.name for one in page.movable], singles=page.singles)
    if request.method == "POST":
        if not form.is_valid():
            raise NotValidError(_("choose among the field managers of this plan; reload the page"))
        names, moves_own = form.cleaned_data["managers"], form.cleaned_data["moves_own"]
        made = ownership_moves.move_ownership(plan, names, moves_own=moves_own, by=request.user, singles=form.kept)
        return redirect("reviews:show-plan", plan.review.number, made.number)
    return _answer(request, "reviews/move_ownership.html", {"page": page, "plan": plan})


@requires_plan(Action.WRITE, "GET", "POST")
def edit_last_applied(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Show what was last applied; an edited text opens a review that sets it."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    change = live_values.read_change(plan, position)
    page = present_last_applied(change)
    form = LastAppliedForm(request.POST or None, initial={"text": page.text})
    context: dict[str, object] = {"form": form, "page": page, "back_url": link_alone(plan, position)}
    if request.method == "POST" and not page.why and form.is_valid():
        source = read_source(ReviewInput(text=form.cleaned_data["text"]), by=request.user)
        if source.can_be_planned:
            try:
                review = last_applied.open_review(plan, change, source.bundle, source.files, by=request.user)
            except NotValidError as error:
                form.add_error("text", str(error))
            else:
                return redirect("reviews:show-review", review.number)
        context["problems"] = source.problems
    return render(request, "reviews/last_applied.html", context, status=422 if request.method == "POST" else 200)
