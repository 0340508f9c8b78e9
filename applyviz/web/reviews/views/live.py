"""Live beside a plan: the comparison with it, and the verification of a review that another tool applies."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment
from applyviz.web.reviews.pages.external_apply import present_watch
from applyviz.web.reviews.pages.live_bar import present_live_bar
from applyviz.web.reviews.pages.overview_tab import present_overview
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pages.review_header import present_header
from applyviz.web.reviews.pages.strip import present_strip
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.live import external_apply, plan_comparison

BARS = ("live-bar", "live-bar-sheet")


@requires_plan(Action.VIEW)
def show_comparison(request: PageRequest, plan: Plan) -> HttpResponse:
    """Ask for a comparison when the last one is a minute old, and show the bar; without script, the review.

    - The request names the header that the page shows. If the header has changed since, the answer also replaces the
      header, the strip and the Overview.
    """
    plan_comparison.request_comparison(plan)
    if not is_fragment(request):
        return redirect("reviews:show-plan", plan.review.number, plan.number)
    bar = present_live_bar(plan, for_user=request.user, is_first=False)
    chosen = request.GET.get("bar", "")
    parts = {"live": bar, "bar_id": chosen if chosen in BARS else BARS[0], **_find_new_parts(request, plan)}
    return render(request, "reviews/_live_answer.html", parts)


def _find_new_parts(request: PageRequest, plan: Plan) -> dict[str, object]:
    """Return the header, the strip and, on that tab, the Overview if the page shows an outdated header."""
    shown = request.GET.get("header", "")
    if not shown:
        return {}
    context = read_context(plan, for_user=request.user)
    header = present_header(context, context.state)
    if header.mark == shown:
        return {}
    is_overview = request.GET.get("tab", "") == ReviewTab.OVERVIEW
    overview = present_overview(context) if is_overview else None
    return {"header_line": header, "strip": present_strip(context), "overview": overview}


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
