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
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import planner
from applyviz.workflow.plans import reviews as use_cases

COOKIE = "last_tab"
_LASTS = 90 * 24 * 3600


def render_tab(request: PageRequest, context: PlanContext, tab: ReviewTab, **parts: object) -> HttpResponse:
    """Render one tab inside the frame, or its changed parts for a polling page.

    - This browser opens this review in the same tab the next time: the cookie belongs to the addresses of the review.
    - The page is `reviews/tabs/<tab>.html`, the changed parts are `reviews/tabs/_<tab>_moved.html`.
    """
    name = f"reviews/tabs/_{tab.value}_moved.html" if is_fragment(request) else f"reviews/tabs/{tab.value}.html"
    response = render(request, name, {**present_shell(context, tab).parts(), **parts})
    response.set_cookie(
        COOKIE,
        tab.value,
        max_age=_LASTS,
        path=reverse("reviews:show-review", args=[context.plan.review.number]),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


def _render_overview(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    return render_tab(request, context, ReviewTab.OVERVIEW, overview=present_overview(context))


def _render_changes(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    reader = ScrollReader(plan, request.user, context.options, context.changes, context.viewed)
    page = present_scroll(reader, ScrollForm.read_choice(request.GET))
    still: dict[str, object] = {} if page.alone is None else {"poll_url": ""}  # what was opened in it stays open
    return render_tab(request, context, ReviewTab.CHANGES, **page.parts(), **still)


def _render_addons(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    return render_tab(request, context, ReviewTab.ADDONS, addons=present_addons(context))


def _render_graph(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    choice = GraphChoice.read(request.GET, PageForm.read_page(request.GET))
    return render_tab(request, context, ReviewTab.GRAPH, graph=present_graph(context, choice))


def _render_owners(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    page = present_owners_tab(context, request.GET)
    move_url = find_ownership_url(plan, request.user)
    return render_tab(request, context, ReviewTab.OWNERS, owners=page, move_url=move_url)


def _render_requests(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    page = present_requests(context, page=PageForm.read_page(request.GET))
    return render_tab(request, context, ReviewTab.REQUESTS, page=page)


def _render_activity(request: PageRequest, plan: Plan) -> HttpResponse:
    context = read_context(plan, for_user=request.user)
    return render_tab(request, context, ReviewTab.ACTIVITY, activity=present_activity(context))


RENDERERS: dict[ReviewTab, Callable[[PageRequest, Plan], HttpResponse]] = {
    ReviewTab.OVERVIEW: _render_overview,
    ReviewTab.CHANGES: _render_changes,
    ReviewTab.ADDONS: _render_addons,
    ReviewTab.GRAPH: _render_graph,
    ReviewTab.OWNERS: _render_owners,
    ReviewTab.REQUESTS: _render_requests,
    ReviewTab.ACTIVITY: _render_activity,
}


def open_tab(request: PageRequest, number: int, plan: int, tab: ReviewTab) -> HttpResponse:
    """Show a tab of a plan."""
    return RENDERERS[tab](request, planner.get_plan(plan, review_number=number, for_user=request.user))


def _find_latest(request: PageRequest, number: int) -> int:
    latest = use_cases.get_review(number, for_user=request.user).latest_plan
    if latest is None:
        raise NotVisibleError(f"review {number} has no plan")
    return latest.number


def _open_last(request: PageRequest, number: int, plan: int) -> HttpResponse:
    found, tab = planner.get_plan(plan, review_number=number, for_user=request.user), _find_last_tab(request)
    if tab is ReviewTab.ADDONS and options_from_json(found.options).channel is None:
        tab = ReviewTab.OVERVIEW
    return RENDERERS[tab](request, found)


def _find_last_tab(request: PageRequest) -> ReviewTab:
    """Return the tab that this browser used last in this review; the Overview on the first visit."""
    kept = request.COOKIES.get(COOKIE, "")
    return ReviewTab(kept) if kept in set(ReviewTab) else ReviewTab.OVERVIEW


@requires(Action.VIEW)
def show_review(request: PageRequest, number: int) -> HttpResponse:
    """Show the latest plan of a review, in the tab that was used last."""
    return _open_last(request, number, _find_latest(request, number))


@requires(Action.VIEW)
def show_latest_overview(request: PageRequest, number: int) -> HttpResponse:
    """Show the Overview of the latest plan, the target of links in messages."""
    return open_tab(request, number, _find_latest(request, number), ReviewTab.OVERVIEW)


@requires(Action.VIEW)
def show_plan(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show one plan of a review, in the tab that was used last."""
    return _open_last(request, number, plan)


@requires(Action.VIEW)
def show_overview(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the Overview of a plan."""
    return open_tab(request, number, plan, ReviewTab.OVERVIEW)


@requires(Action.VIEW)
def show_changes(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the objects of a plan, and the fields of one of them."""
    return open_tab(request, number, plan, ReviewTab.CHANGES)


@requires(Action.VIEW)
def show_addons(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the addons of a kOps channel: the choice for each, and its objects."""
    return open_tab(request, number, plan, ReviewTab.ADDONS)


@requires(Action.VIEW)
def show_graph(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show what the objects of a plan refer to, as a picture or as a table."""
    return open_tab(request, number, plan, ReviewTab.GRAPH)


@requires(Action.VIEW)
def show_owners(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show who owns the fields of the objects of a plan, or of one of them."""
    return open_tab(request, number, plan, ReviewTab.OWNERS)


@requires(Action.VIEW)
def show_requests(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the requests of a plan."""
    return open_tab(request, number, plan, ReviewTab.REQUESTS)


@requires(Action.VIEW)
def show_activity(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the events and comments of the review."""
    return open_tab(request, number, plan, ReviewTab.ACTIVITY)
