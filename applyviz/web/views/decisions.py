"""Decisions that reach over a whole plan, and undoing one: each asks for the next plan."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.engine.planning.decisions import Way
from applyviz.records.models import Plan
from applyviz.web.forms.decisions import EverywhereForm
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import decisions, plans, reviews
from applyviz.workflow.access import Action
from applyviz.workflow.errors import NotPossibleError


def _get_latest(request: PageRequest, number: int, plan: int) -> Plan:
    found = plans.get_plan(plan, review_number=number, for_user=request.user)
    latest = found.review.latest_plan
    if latest is None or latest.pk != found.pk:
        raise NotPossibleError(_("a later plan took the place of this one; look at that"))
    return found


@needs(Action.DECIDE, "POST")
def decide_everywhere(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Answer every open conflict of a plan, or those with one field manager, in one way."""
    found = _get_latest(request, number, plan)
    form = EverywhereForm(request.POST)
    chosen = form.cleaned_data if form.is_valid() else {}
    choices = (
        decisions.choose_everywhere(found, Way(chosen["way"]), manager=chosen["manager"]) if chosen.get("way") else []
    )
    if not choices:
        raise NotPossibleError(_("the button names no conflict; look at the page again"))
    following = reviews.replan_review(found.review, by=request.user, choices=choices, note=chosen["note"])
    return redirect("reviews:show-plan", number, following.number)


@needs(Action.DECIDE, "POST")
def undo(request: PageRequest, number: int, plan: int, place: int) -> HttpResponse:
    """Ask for a plan without one decision."""
    found = _get_latest(request, number, plan)
    following = reviews.replan_review(found.review, by=request.user, undone=place)
    return redirect("reviews:show-plan", number, following.number)
