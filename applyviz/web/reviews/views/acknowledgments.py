"""Acknowledging risks, and undoing that."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.risks.model import RiskKind
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.reviews.forms.resolutions import RiskForm
from applyviz.workflow.approvals import acknowledgements
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import planner


def _read(request: PageRequest) -> RiskForm:
    form = RiskForm(request.POST)
    if not form.is_valid():
        raise NotPossibleError(_("no risk was selected; reload the page and try again"))
    return form


def _go_back(number: int, plan: int, position: int, kind: RiskKind) -> HttpResponse:
    if position == acknowledgements.PLAN_ITSELF:
        address = reverse("reviews:show-overview", args=[number, plan])
    else:
        address = reverse("reviews:show-object", args=[number, plan, position, "changes"])
    return redirect(f"{address}#risk-{kind.value}")


@requires(Action.ACKNOWLEDGE, "POST")
def acknowledge(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Acknowledge a risk of one object, of those that were listed beside it, or of the plan itself."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    form = _read(request)
    kind = RiskKind(form.cleaned_data["kind"])
    count = acknowledgements.acknowledge_risks(
        found, kind, by=request.user, positions=form.positions, note=form.cleaned_data["note"]
    )
    text = ngettext("Acknowledged for %(count)d object.", "Acknowledged for %(count)d objects.", count)
    messages.success(request, text % {"count": count})
    return _go_back(number, plan, form.cleaned_data["position"], kind)


@requires(Action.ACKNOWLEDGE, "POST")
def withdraw(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Undo one's own acknowledgement."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    form = _read(request)
    kind, position = RiskKind(form.cleaned_data["kind"]), form.cleaned_data["position"]
    acknowledgements.withdraw_acknowledgement(found, kind, by=request.user, position=position)
    return _go_back(number, plan, position, kind)
