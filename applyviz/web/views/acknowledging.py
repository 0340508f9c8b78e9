"""Taking note of hazards, and taking that back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.hazards.model import HazardKind
from applyviz.web.forms.decisions import HazardForm
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import acknowledgements, plans
from applyviz.workflow.access import Action
from applyviz.workflow.errors import NotPossibleError


def _read(request: PageRequest) -> HazardForm:
    form = HazardForm(request.POST)
    if not form.is_valid():
        raise NotPossibleError(_("the button names no hazard; look at the page again"))
    return form


def _go_back(number: int, plan: int, position: int | None, kind: HazardKind) -> HttpResponse:
    if position is None:
        return redirect("reviews:show-plan", number, plan)
    address = reverse("reviews:show-object", args=[number, plan, position, "changes"])
    return redirect(f"{address}#hazard-{kind.value}")


@needs(Action.ACKNOWLEDGE, "POST")
def acknowledge(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Take note of a hazard of one object, or of every object that has it."""
    found = plans.get_plan(plan, review_number=number, for_user=request.user)
    form = _read(request)
    kind, position = HazardKind(form.cleaned_data["kind"]), form.cleaned_data["position"]
    is_all = "all" in request.POST
    count = acknowledgements.acknowledge_hazards(
        found, kind, by=request.user, position=None if is_all else position, note=form.cleaned_data["note"]
    )
    text = ngettext("You took note for %(count)d object.", "You took note for %(count)d objects.", count)
    messages.success(request, text % {"count": count})
    return _go_back(number, plan, position, kind)


@needs(Action.ACKNOWLEDGE, "POST")
def withdraw(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Take one's own acknowledgement back."""
    found = plans.get_plan(plan, review_number=number, for_user=request.user)
    form = _read(request)
    kind, position = HazardKind(form.cleaned_data["kind"]), form.cleaned_data["position"]
    if position is None:
        raise NotPossibleError(_("the button names no object; look at the page again"))
    acknowledgements.withdraw_acknowledgement(found, kind, by=request.user, position=position)
    return _go_back(number, plan, position, kind)
