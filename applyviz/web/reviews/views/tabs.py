"""The tabs of a review, one page each; the address of the review opens the tab that was used last."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.models import Plan
from applyviz.web.components.forms import PageForm
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.forms.scroll import ScrollForm
from applyviz.web.reviews.pages.activity_tab import present_activity
from applyviz.web.reviews.pages.addons.tab import present_addons
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.tab import present_graph
from applyviz.web.reviews.pages.object_offers import find_ownership_url
from applyviz.web.reviews.pages.overview_tab import present_overview
from applyviz.web.reviews.pages.owners.tab import present_owners_tab
from applyviz.web.reviews.pages.plan_context import PlanContext, read_context
from applyviz.web.reviews.pages.requests_tab import present_requests
from applyviz.web.reviews.pages.scroll import ScrollReader, present_scroll
from applyviz.web.reviews.pages.shell import present_shell
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import planner
from applyviz.workflow.plans import reviews as use_cases

COOKIE = "last_tab"
_LASTS = 90 * 24 * 3600


def _read_changes(request: PageRequest, context: PlanContext) -> dict[str, object]:
    reader = ScrollReader(context.plan, request.user, context.options, context.changes, context.viewed)
    page = present_scroll(reader, ScrollForm.read_choice(request.GET))
    still: dict[str, object] = {} if page.alone is None else {"poll_url": ""}  # what was opened in it stays open
    return {**page.parts(), **still}


def _read_graph(request: PageRequest, context: PlanContext) -> dict[str, object]:
    choice = GraphChoice.read(request.GET, PageForm.read_page(request.GET))
    return {"graph": present_graph(context, choice)}


def _read_owners(request: PageRequest, context: PlanContext) -> dict[str, object]:
    page = present_owners_tab(context, request.GET)
    return {"owners": page, "move_url": find_ownership_url(context.plan, request.user)}


_READERS: dict[ReviewTab, Callable[[PageRequest, PlanContext], dict[str, object]]] = {
    ReviewTab.OVERVIEW: lambda _, context: {"overview": present_overview(context)},
    ReviewTab.CHANGES: _read_changes,
    ReviewTab.ADDONS: lambda _, context: {"addons": present_addons(context)},
    ReviewTab.GRAPH: _read_graph,
    ReviewTab.OWNERS: _read_owners,
    ReviewTab.REQUESTS: lambda request, context: {
        "page": present_requests(context, page=PageForm.read_page(request.GET))
    },
    ReviewTab.ACTIVITY: lambda _, context: {"activity": present_activity(context)},
}


def open_tab(request: PageRequest, plan: Plan, tab: ReviewTab) -> HttpResponse:
    """Show a tab of a plan inside the frame, or its changed parts for a polling page.

    - This browser opens this review in the same tab the next time: the cookie belongs to the addresses of the review.
    - The page is `reviews/tabs/<tab>.html`, the changed parts are `reviews/tabs/_<tab>_moved.html`.
    """
    context = read_context(plan, for_user=request.user)
    parts = _READERS[tab](request, context)
    name = f"reviews/tabs/_{tab.value}_moved.html" if is_fragment(request) else f"reviews/tabs/{tab.value}.html"
    response = render(request, name, {**present_shell(context, tab).parts(), **parts})
    response.set_cookie(
        COOKIE,
        tab.value,
        max_age=_LASTS,
        path=reverse("reviews:show-review", args=[plan.review.number]),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


def _get_latest(request: PageRequest, number: int) -> Plan:
    latest = use_cases.get_review(number, for_user=request.user).latest_plan
    if latest is None:
        raise NotVisibleError(f"review {number} has no plan")
    return planner.get_plan(latest.number, review_number=number, for_user=request.user)


def _open_last(request: PageRequest, plan: Plan) -> HttpResponse:
    tab = _find_last_tab(request)
    if tab is ReviewTab.ADDONS and options_from_json(plan.options).channel is None:
        tab = ReviewTab.OVERVIEW
    return open_tab(request, plan, tab)


def _find_last_tab(request: PageRequest) -> ReviewTab:
    """Return the tab that this browser used last in this review; the Overview on the first visit."""
    kept = request.COOKIES.get(COOKIE, "")
    return ReviewTab(kept) if kept in set(ReviewTab) else ReviewTab.OVERVIEW


@requires(Action.VIEW)
def show_review(request: PageRequest, number: int) -> HttpResponse:
    """Show the latest plan of a review, in the tab that was used last."""
    return _open_last(request, _get_latest(request, number))


@requires(Action.VIEW)
def show_latest_overview(request: PageRequest, number: int) -> HttpResponse:
    """Show the Overview of the latest plan, the target of links in messages."""
    return open_tab(request, _get_latest(request, number), ReviewTab.OVERVIEW)


@requires_plan(Action.VIEW)
def show_plan(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show one plan of a review, in the tab that was used last."""
    return _open_last(request, plan)


@requires_plan(Action.VIEW)
def show_tab(request: PageRequest, plan: Plan, tab: ReviewTab) -> HttpResponse:
    """Show one tab of a plan."""
    return open_tab(request, plan, tab)
