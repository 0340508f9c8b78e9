"""The risks of a plan: the list, acknowledging what it shows, and undoing that."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.risks.model import RiskKind, find_kind
from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment
from applyviz.web.reviews.forms.resolutions import RiskForm, RiskPairsForm
from applyviz.web.reviews.pages.overview_tab import list_shown_risks
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pages.risk_list import present_risk_list
from applyviz.web.reviews.pages.shell import present_shell
from applyviz.web.reviews.pages.tabs import ReviewTab, present_tabs
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError


def _read(request: PageRequest) -> RiskForm:
    form = RiskForm(request.POST)
    if not form.is_valid():
        raise NotPossibleError(_("no risk was selected; reload the page and try again"))
    return form


def _go_back(plan: Plan, form: RiskForm) -> HttpResponse:
    numbers = [plan.review.number, plan.number]
    kind, position = form.cleaned_data["kind"], form.cleaned_data["position"]
    if form.cleaned_data["back"] or position == acknowledgments.PLAN_ITSELF:
        address = reverse("reviews:show-risks", args=numbers)
    else:
        address = f"{reverse('reviews:show-changes', args=numbers)}?only={position}"
    return redirect(f"{address}#risk-{kind}")


def _render_list(request: PageRequest, plan: Plan, *, confirmation: str = "") -> HttpResponse:
    """The list as a fragment; after an act with everything on the page that counts risks."""
    context = read_context(plan, for_user=request.user)
    parts = {**present_shell(context, None).parts(), "risks": present_risk_list(context), "confirmation": confirmation}
    if not is_fragment(request):
        # The list is the Overview's, at an address of its own.
        parts["tabs"] = present_tabs(context, ReviewTab.OVERVIEW)
        return render(request, "reviews/risks.html", parts)
    parts["overview_risks"] = list_shown_risks(context) if request.POST.get("tab") == "overview" else None
    return render(request, "reviews/_risk_answer.html" if confirmation else "reviews/_risk_list.html", parts)


def _describe_objects(positions: Collection[int], count: int) -> str:
    if acknowledgments.PLAN_ITSELF in positions:
        return _("Acknowledged for the plan.")
    text = ngettext("Acknowledged for %(count)d object.", "Acknowledged for %(count)d objects.", count)
    return text % {"count": count}


def _describe_shown(shown: Mapping[RiskKind, Collection[int]], count: int) -> str:
    """Count the acknowledged risks, as the page does, or the objects of a single one."""
    if len(shown) == 1:
        return _describe_objects(next(iter(shown.values())), count)
    return ngettext("Acknowledged %(n)d risk.", "Acknowledged %(n)d risks.", len(shown)) % {"n": len(shown)}


@requires_plan(Action.VIEW)
def show_risks(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show the one list of risks, as a page or for the drawer."""
    return _render_list(request, plan)


@requires_plan(Action.ACKNOWLEDGE, "POST")
def acknowledge(request: PageRequest, plan: Plan) -> HttpResponse:
    """Acknowledge a risk of one object, of the objects listed beside it, or of the plan itself."""
    form = _read(request)
    kind = find_kind(form.cleaned_data["kind"])
    count = acknowledgments.acknowledge_risks(
        plan, kind, by=request.user, positions=form.positions, note=form.cleaned_data["note"]
    )
    confirmation = _describe_objects(form.positions, count)
    if is_fragment(request):
        return _render_list(request, plan, confirmation=confirmation)
    messages.success(request, confirmation)
    return _go_back(plan, form)


@requires_plan(Action.ACKNOWLEDGE, "POST")
def acknowledge_all(request: PageRequest, plan: Plan) -> HttpResponse:
    """Acknowledge every risk that the list named, each for its objects."""
    form = RiskPairsForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    count = acknowledgments.acknowledge_shown(plan, form.shown, by=request.user, note=note)
    confirmation = _describe_shown(form.shown, count)
    if is_fragment(request):
        return _render_list(request, plan, confirmation=confirmation)
    messages.success(request, confirmation)
    return redirect("reviews:show-risks", plan.review.number, plan.number)


@requires_plan(Action.ACKNOWLEDGE, "POST")
def withdraw(request: PageRequest, plan: Plan) -> HttpResponse:
    """Undo the person's own acknowledgment."""
    form = _read(request)
    kind, position = find_kind(form.cleaned_data["kind"]), form.cleaned_data["position"]
    acknowledgments.withdraw_acknowledgment(plan, kind, by=request.user, position=position)
    if is_fragment(request):
        return _render_list(request, plan, confirmation=_("Acknowledgment undone."))
    return _go_back(plan, form)
