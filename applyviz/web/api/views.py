"""The API for pipelines and agents: create a review, read its plan, wait, run what was approved, read the result.

Nothing here approves: people approve in the browser. Documented in `docs/gate.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Plan
from applyviz.web.api import responses
from applyviz.web.api.forms import APIDigestForm, FilesForm, NothingForm, ReviewForm, WaitForm, find_cluster, read_files
from applyviz.web.api.guard import check, read_body, requires, show
from applyviz.web.api.problems import ProblemsError, collect
from applyviz.web.frame import streams
from applyviz.workflow import runs
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.people.tokens import Caller
from applyviz.workflow.plans import planner, reviews

OBJECTS = 100


def _root(request: HttpRequest) -> str:
    return settings.APPLYVIZ_URL.rstrip("/") or request.build_absolute_uri("/").rstrip("/")


@requires(Action.VIEW)
def show_caller(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Return the account, scope and expiry of the token."""
    token = caller.token
    return show(
        {
            "version": 1,
            "account": caller.person.get_username(),
            "token": token.name,
            "scope": token.scope,
            "expires_at": token.expires_at.isoformat(),
        }
    )


@requires(Action.WRITE, "POST")
def add_review(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Open a review of some files and request its first plan."""
    given = read_body(request)
    form = ReviewForm(given)
    cluster, wrong = collect(lambda: find_cluster(registration.list_usable(for_user=caller.person), check(form)))
    folder = given.get("kustomization")
    bundle, unread = collect(lambda: read_files(given, folder if isinstance(folder, str) else ""))
    if cluster is None or bundle is None:
        raise ProblemsError((*wrong, *unread))
    chosen = form.cleaned_data
    review = reviews.create_review(
        by=caller.person,
        title=chosen["title"],
        reason=chosen["reason"],
        ticket=chosen["ticket"],
        cluster=cluster,
        options=form.options,
        bundle=bundle,
    )
    made = planner.get_plan(1, review_number=review.number, for_user=caller.person)
    return show(_show_plan(made, request, caller), 201)


@requires(Action.WRITE, "POST")
def add_plan(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Re-plan with the same files, or new ones."""
    given = read_body(request)
    review = reviews.get_review(number, for_user=caller.person)
    chosen = check(FilesForm(given))
    bundle = read_files(given, chosen["kustomization"]) if "files" in given else None
    made = reviews.replan_review(review, by=caller.person, bundle=bundle)
    found = planner.get_plan(made.number, review_number=number, for_user=caller.person)
    return show(_show_plan(found, request, caller), 201)


@requires(Action.VIEW)
def show_latest(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Return the current plan of a review."""
    latest = reviews.get_review(number, for_user=caller.person).latest_plan
    if latest is None:
        raise NotVisibleError(f"review {number} has no plan")
    return _wait_for_plan(request, caller, number, latest.number)


@requires(Action.VIEW)
def show_plan(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Return one plan, at once or as soon as it differs from the last answer."""
    return _wait_for_plan(request, caller, number, plan)


def _wait_for_plan(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    chosen = check(WaitForm(request.GET))
    start, count = chosen["start"] or 0, OBJECTS if chosen["count"] is None else chosen["count"]

    def look() -> JSONObject:
        found = planner.get_plan(plan, review_number=number, for_user=caller.person)
        return _show_plan(found, request, caller)

    def finish(document: JSONObject) -> JSONObject:
        found = planner.get_plan(plan, review_number=number, for_user=caller.person)
        listed = responses.list_objects(found, start=start, count=count)
        return {**document, "objects": listed, "objects_in_all": found.changes.count()}

    return _wait(request, look, finish)


def _wait(
    request: HttpRequest, look: Callable[[], JSONObject], finish: Callable[[JSONObject], JSONObject]
) -> HttpResponseBase:
    chosen = check(WaitForm(request.GET))
    return streams.answer_when(
        request,
        look,
        is_enough=lambda document: document["mark"] != chosen["seen"],
        finish=finish,
        seconds=(chosen["wait"] or 0) if chosen["seen"] else 0,
    )


def _show_plan(plan: Plan, request: HttpRequest, caller: Caller) -> JSONObject:
    return responses.present_plan(plan, for_user=caller.person, root=_root(request))


@requires(Action.APPLY, "POST")
def start_run(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Run an approved plan by the digest that was read; 409 with everything that blocks."""
    found = planner.get_plan(plan, review_number=number, for_user=caller.person)
    chosen = check(APIDigestForm(read_body(request)))
    run = runs.start_run(found, by=caller.person, digest=chosen["digest"])
    return show(responses.present_run(run, root=_root(request)), 201)


@requires(Action.VIEW)
def show_run(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Return the results of a run, at once or as soon as they differ from the last answer."""

    def look() -> JSONObject:
        return responses.present_run_with_results(runs.get_run(number, for_user=caller.person), root=_root(request))

    return _wait(request, look, lambda document: document)


@requires(Action.APPLY, "POST")
def cancel_run(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Cancel a run."""
    found = runs.get_run(number, for_user=caller.person)
    check(NothingForm(read_body(request)))
    runs.cancel_run(found, by=caller.person)
    return show(responses.present_run(runs.get_run(number, for_user=caller.person), root=_root(request)))
