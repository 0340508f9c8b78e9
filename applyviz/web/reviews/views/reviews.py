"""Reviews: the list, creating and closing one, and the objects of a plan, one by one and field by field."""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.web.frame import streams
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.web.reviews.forms import manifests
from applyviz.web.reviews.forms.reviews import ListForm, NewReviewForm, ObjectListForm, PaneForm, ReplanForm
from applyviz.web.reviews.pages import review_page
from applyviz.web.reviews.pages.object_list import ListChoice
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pages.plan_events import find_arrivals
from applyviz.web.reviews.pages.review_list import present_reviews
from applyviz.web.reviews.pages.shell import present_shell
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.pane.object_pane import Tab
from applyviz.web.reviews.views.tabs import open_tab
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError, WorkflowError
from applyviz.workflow.plans import planner
from applyviz.workflow.plans import reviews as use_cases


@requires(Action.VIEW)
def list_reviews(request: PageRequest) -> HttpResponse:
    """List all reviews, newest first."""
    found = use_cases.list_reviews(for_user=request.user)
    page = present_reviews(found, page=ListForm.read_page(request.GET), for_user=request.user)
    can_write = access.can(request.user, Action.WRITE)
    return render(request, "reviews/list.html", {"page": page, "can_write": can_write})


@requires(Action.WRITE, "GET", "POST")
def add_review(request: PageRequest) -> HttpResponse:
    """Open a review from files, a folder, a paste or a link."""
    form = NewReviewForm(request.POST or None, request.FILES or None, for_user=request.user)
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        source = manifests.read_source(form)
        if source.can_be_planned:
            review = use_cases.create_review(
                by=request.user,
                title=form.cleaned_data["title"],
                reason=form.cleaned_data["reason"],
                ticket=form.cleaned_data["ticket"],
                cluster=form.cleaned_data["cluster"],
                options=form.options,
                bundle=source.bundle,
                applied_by=form.applier,
            )
            return redirect("reviews:show-review", review.number)
        context |= {"problems": source.problems, "found": source.found}
    return render(
        request, "reviews/new.html", context | manifests.HELP, status=422 if request.method == "POST" else 200
    )


@requires(Action.WRITE, "POST")
def check_source(request: PageRequest) -> HttpResponse:
    """Show the objects and problems of the manifests at once."""
    form = manifests.SourceForm(request.POST, request.FILES)
    if not form.is_valid():
        return HttpResponse()
    source = manifests.read_source(form, is_fetching=False)
    return render(request, "reviews/_found.html", {"problems": source.problems, "found": source.found})


@requires(Action.VIEW)
def stream_arrivals(request: PageRequest, number: int, plan: int) -> HttpResponseBase:
    """Stream each object when it is planned, as server-sent events."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    return streams.stream_events(request, partial(find_arrivals, found.pk))


@requires(Action.VIEW)
def list_objects(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Show the filtered objects of a plan; without script, the page with them."""
    if not is_fragment(request):
        return open_tab(request, number, plan, ReviewTab.CHANGES)
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    choice = ObjectListForm.read_choice(request.GET)
    listing = review_page.present_listing(found, choice, for_user=request.user)
    if choice.group:
        group = listing.find_group(choice.group)
        context = {"group": group, "items": group.items if group else (), "listing": listing}
        return render(request, "reviews/_object_more.html", context)
    response = render(request, "reviews/_object_groups.html", {"listing": listing})
    response["HX-Replace-Url"] = _find_address(request, choice)
    return response


def _find_address(request: PageRequest, choice: ListChoice) -> str:
    """Return the address of the page with its filters."""
    path, _mark, query = (request.htmx.current_url_abs_path or request.path).partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name not in ObjectListForm.base_fields]
    asked = [*kept, *parse_qsl(choice.query)]
    return f"{path}?{urlencode(asked)}" if asked else path


@requires(Action.VIEW)
def show_object(request: PageRequest, number: int, plan: int, position: int, tab: str) -> HttpResponse:
    """Show one object of a plan, in one of its tabs."""
    if tab not in set(Tab):
        raise NotVisibleError(f"there is no view {tab}")
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    listed = ObjectListForm.read_choice(request.GET)
    choice = PaneForm.read_choice(request.GET, Tab(tab), keep=listed.query)
    row = review_page.get_row(found, position)
    is_first = viewed_objects.record_viewed(row, found, by=request.user)
    if is_fragment(request):
        switch = review_page.present_switch(found, row, choice, for_user=request.user, is_first=is_first)
        return render(request, "reviews/_switch.html", switch)
    context = read_context(found, for_user=request.user)
    page = review_page.present_changes(context, position=position, choice=choice, listed=listed)
    frame = {**present_shell(context, ReviewTab.CHANGES).parts(), "poll_url": ""}  # a page of one object does not poll
    return render(request, "reviews/object.html", {**frame, **page.parts()})


@requires(Action.VIEW)
def show_field(request: PageRequest, number: int, plan: int, position: int, index: int) -> HttpResponse:
    """Show the schema of one field."""
    found = planner.get_plan(plan, review_number=number, for_user=request.user)
    about = review_page.present_field_schema(
        found, position, index, for_user=request.user, after=visible_worker_request(request)
    )
    name = "reviews/_schema.html" if is_fragment(request) else "reviews/schema.html"
    return render(request, name, {"about": about})


@requires(Action.WRITE, "POST")
def replan(request: PageRequest, number: int) -> HttpResponse:
    """Ask for the next plan of the same manifests, on demand with every conflict taken over."""
    review = use_cases.get_review(number, for_user=request.user)
    form = ReplanForm(request.POST)
    plan = use_cases.replan_review(review, by=request.user, options=form.read_options(review))
    return redirect("reviews:show-plan", number, plan.number)


@requires(Action.WRITE, "GET", "POST")
def replace_manifests(request: PageRequest, number: int) -> HttpResponse:
    """Ask for the next plan of a review, of other manifests."""
    review = use_cases.get_review(number, for_user=request.user)
    access.require(request.user, Action.WRITE, access.places_of(review))
    form = manifests.SourceForm(request.POST or None, request.FILES or None)
    context: dict[str, object] = {"form": form, "review": review}
    if request.method == "POST" and form.is_valid():
        source = manifests.read_source(form)
        if source.can_be_planned:
            plan = use_cases.replan_review(review, by=request.user, bundle=source.bundle)
            return redirect("reviews:show-plan", number, plan.number)
        context |= {"problems": source.problems, "found": source.found}
    status = 422 if request.method == "POST" else 200
    return render(request, "reviews/manifests.html", context | manifests.HELP, status=status)


@requires(Action.WRITE, "POST")
def close(request: PageRequest, number: int) -> HttpResponse:
    """End a review without applying it."""
    review = use_cases.get_review(number, for_user=request.user)
    try:
        use_cases.close_review(review, by=request.user)
    except WorkflowError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Review closed. Nothing was applied."))
    return redirect("reviews:show-review", number)
