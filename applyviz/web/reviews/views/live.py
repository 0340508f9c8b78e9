"""The comparison of an open plan with live: asked for by open pages, calculated by a worker."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.pages.live_bar import present_live_bar
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans import planner

BARS = ("live-bar", "live-bar-sheet")


@requires(Action.VIEW)
def show_comparison(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Ask for a comparison when the last one is a minute old, and show the bar; without script, the review."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    plan_comparison.request_comparison(found)
    if not is_fragment(request):
        return redirect("reviews:show-plan", number, plan)
    bar = present_live_bar(found, for_user=request.user, is_first=False)
    chosen = request.GET.get("bar", "")
    context = {"live": bar, "bar_id": chosen if chosen in BARS else BARS[0]}
    return render(request, "reviews/_live_bar.html", context)
