"""Reviews: the list, creating and closing one, and the fields of the objects of a plan, one by one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import ReviewState
from applyviz.records.models import Plan, Review
from applyviz.web.components.forms import PageForm
from applyviz.web.components.list_filters import ListFilterForm
from applyviz.web.frame import streams
from applyviz.web.frame.streams import StreamEvent
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.web.reviews.forms import manifests, patches, prune
from applyviz.web.reviews.forms.presets import PresetChoiceForm, fill_review
from applyviz.web.reviews.forms.reviews import NewReviewForm, ReplanForm
from applyviz.web.reviews.pages import object_page
from applyviz.web.reviews.pages.plan_events import find_arrivals
from applyviz.web.reviews.pages.review_list import present_reviews
from applyviz.web.reviews.pages.sources.found_objects import ReadSource, read_source
from applyviz.web.reviews.pages.sources.presets import find_card, present_cards
from applyviz.web.reviews.pages.sources.provenance import describe_same
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.clusters import states
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.plans import git_sources, planner, presets
from applyviz.workflow.plans import reviews as use_cases
from applyviz.workflow.plans.channels import as_source
from applyviz.workflow.plans.charts import leave_out_hooks
from applyviz.workflow.plans.intake import ReviewInput
from applyviz.workflow.plans.object_choices import take_back


@requires(Action.VIEW)
def list_reviews(request: PageRequest) -> HttpResponse:
    """List the reviews that match, newest first."""
    form = ListFilterForm(request.GET, states=ReviewState.choices, person=_("Author"), for_user=request.user)
    found = present_reviews(form.read(), page=PageForm.read_page(request.GET), for_user=request.user)
    is_part, can_write = is_fragment(request), access.can(request.user, Action.WRITE)
    context = {
        "form": form,
        "page": found.page,
        "is_moving": found.is_moving,
        "can_write": can_write,
        "is_part": is_part,
    }
    return render(request, "reviews/_list.html" if is_part else "reviews/list.html", context)


@requires(Action.WRITE, "GET", "POST")
def add_review(request: PageRequest) -> HttpResponse:
    """Open a review from files, a folder, a paste, links or a git repository; a preset fills the form."""
    chosen = PresetChoiceForm.read_slug(request.GET)
    initial = fill_review(presets.get_usable(chosen, for_user=request.user)) if chosen else {}
    form = NewReviewForm(request.POST or None, request.FILES or None, initial=initial, for_user=request.user)
    offered = presets.list_usable(for_user=request.user)
    context: dict[str, object] = {
        "form": form,
        "presets": present_cards(offered),
        "preset": find_card(offered, str(form["preset"].value() or "")),
        "can_manage": access.can(request.user, Action.MANAGE),
    }
    if request.method == "POST" and form.is_valid():
        namespace, cluster = form.cleaned_data["namespace"], form.cleaned_data["cluster"]
        given = form.add_patch(form.describe_input(cluster=cluster, namespace=namespace))
        source = read_source(given, by=request.user, may_wait=True)
        _check_follow(form, source)
        if source.can_be_planned and not form.errors:
            options = as_source(form.options, source.files)
            review = use_cases.create_review(
                by=request.user,
                title=form.cleaned_data["title"],
                reason=form.cleaned_data["reason"],
                ticket=form.cleaned_data["ticket"],
                cluster=cluster,
                options=_choose_hooks(form, options, source),
                bundle=source.bundle,
                applied_by=form.applier,
                preset=form.used_preset,
            )
            if form.cleaned_data["follow"]:
                branches.start_following(review, by=request.user, seen=1)
            return redirect("reviews:show-review", review.number)
        context |= {"problems": source.problems, "found": source.found}
    elif form.is_bound:
        context |= _find_problems(_describe_refused(form), request)
    return render(
        request,
        "reviews/new.html",
        context | manifests.HELP | prune.HELP | patches.HELP,
        status=422 if request.method == "POST" else 200,
    )


def _describe_refused(form: NewReviewForm) -> ReviewInput:
    """Return the input that a refused form accepts.

    - A chart and the files that may be its own wait for the cluster and the namespace to render it for.
    """
    found = form.cleaned_data
    given = form.describe_input(cluster=found.get("cluster"), namespace=found.get("namespace", ""))
    is_placed = form.errors.keys().isdisjoint(("cluster", "namespace"))
    return given if is_placed or given.chart is None else replace(given, chart=None, files=())


def _find_problems(given: ReviewInput, request: PageRequest) -> dict[str, object]:
    """Read what a refused form accepts of its sources, so that every problem is shown at once."""
    if not (given.files or given.text.strip() or given.links or given.git or given.chart):
        return {}
    source = read_source(given, by=request.user)
    return {"problems": source.problems, "found": source.found}


def _check_follow(form: NewReviewForm, source: ReadSource) -> None:
    """Refuse to follow a branch where the manifests are not from one branch alone, or another tool applies them."""
    if not form.cleaned_data["follow"] or not source.can_be_planned:
        return
    if form.applier:
        form.add_error("follow", _("Another tool applies this review, so it can't follow a branch."))
    elif not branches.can_follow(source.bundle):
        form.add_error("follow", _("All manifests must come from one branch of a repository."))


@requires(Action.WRITE, "POST")
def check_source(request: PageRequest) -> HttpResponse:
    """Show the objects and problems of the manifests at once."""
    form = manifests.SourceForm(request.POST, request.FILES)
    if not form.is_valid() or form.cleaned_data["chart"]:  # what a chart holds is known once it is rendered
        return HttpResponse()
    source = read_source(form.describe_input(is_fetching=False), by=request.user)
    return render(request, "reviews/_found.html", {"problems": source.problems, "found": source.found})


@requires_plan(Action.VIEW)
def stream_arrivals(request: PageRequest, plan: Plan) -> HttpResponseBase:
    """Stream each object when it is planned, as server-sent events."""

    def poll(cursor: str) -> StreamEvent | None:
        event = find_arrivals(plan.pk, cursor)
        if event is not None:
            planner.get_plan(plan.number, review_number=plan.review.number, for_user=streams.find_reader(request))
        return event

    return streams.stream_events(request, poll)


@requires_plan(Action.VIEW)
def show_field(request: PageRequest, plan: Plan, position: int, index: int) -> HttpResponse:
    """Show the schema of one field."""
    about = object_page.present_field_schema(
        plan, position, index, for_user=request.user, after=visible_worker_request(request)
    )
    name = "reviews/_schema.html" if is_fragment(request) else "reviews/schema.html"
    return render(request, name, {"about": about, "line": object_page.present_field_line(plan, position, index)})


@requires_plan(Action.WRITE, "POST")
def replan(request: PageRequest, plan: Plan) -> HttpResponse:
    """Ask for the plan that follows this one, of the same manifests, on demand with every conflict taken over."""
    options = ReplanForm(request.POST).read_options(plan)
    following = use_cases.replan_review(plan.review, by=request.user, options=options, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires(Action.WRITE, "GET", "POST")
def replace_manifests(request: PageRequest, number: int) -> HttpResponse:
    """Ask for the next plan of a review, of other manifests."""
    review = use_cases.get_review(number, for_user=request.user)
    latest = review.latest_plan
    access.require(request.user, Action.WRITE, access.scopes_of(review))
    started = {"seen": latest.number if latest else None}
    form = manifests.NextSourceForm(request.POST or None, request.FILES or None, initial=started)
    context: dict[str, object] = {"form": form, "review": review, "followed": branches.find_followed(review)}
    if form.is_valid() and latest is not None and (stops := states.find_stop(latest.target.cluster)):
        form.add_error(None, sentences.describe(stops[0]))
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data["seen"]
        latest = planner.get_plan(seen, review_number=number, for_user=request.user) if seen else latest
        source = read_source(_describe_next(form, review), by=request.user, may_wait=True)
        if form.cleaned_data["again"] and _is_same_commit(review, source):
            messages.info(request, describe_same(source.bundle))
            return redirect("reviews:show-review", number)
        if source.can_be_planned:
            options = _choose_hooks(form, _options_of_next(latest), source)
            plan = use_cases.replan_review(review, by=request.user, bundle=source.bundle, options=options, seen=latest)
            return redirect("reviews:show-plan", number, plan.number)
        context |= {"problems": source.problems, "found": source.found}
    elif form.is_bound:
        context |= _find_problems(_describe_next(form, review), request)
    status = 422 if request.method == "POST" else 200
    return render(request, "reviews/manifests.html", context | manifests.HELP, status=status)


def _choose_hooks(form: manifests.SourceForm, options: ApplyOptions, source: ReadSource) -> ApplyOptions:
    """Return the options without the hooks of a chart, unless the form includes them."""
    return options if form.cleaned_data["chart_hooks"] else leave_out_hooks(options, source.files, source.bundle)


def _describe_next(form: manifests.SourceForm, review: Review) -> ReviewInput:
    """Return the input of new manifests, for the cluster and the namespace of the review."""
    latest = review.latest_plan
    if latest is None:
        return form.describe_input()
    namespace = options_from_json(latest.options).namespace
    return form.describe_input(cluster=latest.target.cluster, namespace=namespace)


def _options_of_next(latest: Plan | None) -> ApplyOptions:
    """Return the options of a plan of new manifests: those of the latest, and nothing of its objects is left out."""
    return ApplyOptions() if latest is None else take_back(options_from_json(latest.options))


def _is_same_commit(review: Review, source: ReadSource) -> bool:
    """Return whether a repository that was fetched again is at the commit of the latest plan."""
    latest, commit = review.latest_plan, git_sources.find_facts(source.bundle).get("commit", "")
    return bool(commit) and latest is not None and git_sources.find_commit(latest.revision) == commit


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
