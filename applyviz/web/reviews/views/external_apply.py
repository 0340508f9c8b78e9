"""Reviews that another tool applies: the forecast, and the verification of live."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.pages.external_apply import present_watch
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.live import external_apply
from applyviz.workflow.plans import planner


@requires(Action.VIEW)
def show_watch(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show forecast and verification; a fragment of the review's page."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    if not is_fragment(request):
        return redirect("reviews:show-plan", number, plan)
    return render(request, "reviews/_external_apply.html", {"watch": present_watch(found, for_user=request.user)})


@requires(Action.COMMENT, "POST")
def verify(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Ask a worker to compare live with the plan."""
    external_apply.verify_now(planner.get_plan(plan, review_number=number, for_user=request.user), by=request.user)
    return redirect("reviews:show-plan", number, plan)
