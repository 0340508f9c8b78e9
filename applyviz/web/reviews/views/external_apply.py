"""Reviews that another tool applies: the forecast, and the verification of live."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment
from applyviz.web.reviews.pages.external_apply import present_watch
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.live import external_apply


@requires_plan(Action.VIEW)
def show_watch(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show forecast and verification; a fragment of the review's page."""
    if not is_fragment(request):
        return redirect("reviews:show-plan", plan.review.number, plan.number)
    return render(request, "reviews/_external_apply.html", {"watch": present_watch(plan, for_user=request.user)})


@requires_plan(Action.COMMENT, "POST")
def verify(request: PageRequest, plan: Plan) -> HttpResponse:
    """Ask a worker to compare live with the plan."""
    external_apply.verify_now(plan, by=request.user)
    return redirect("reviews:show-plan", plan.review.number, plan.number)
