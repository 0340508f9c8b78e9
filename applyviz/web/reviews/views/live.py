"""The comparison of an open plan with live: asked for by open pages, calculated by a worker."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment
from applyviz.web.reviews.pages.live_bar import present_live_bar
from applyviz.web.reviews.pages.overview_tab import present_overview
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pages.review_header import present_header
from applyviz.web.reviews.pages.strip import present_strip
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.live import plan_comparison

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
