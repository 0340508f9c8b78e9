"""The API for pipelines and agents: create a review, read its plan, wait, run what was approved, read the result.

Nothing here approves: people approve in the browser. Documented in `docs/gate.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.models import Plan
from applyviz.web.api import responses
from applyviz.web.api.choices import flatten, list_names
from applyviz.web.api.following import present_following, read_seen
from applyviz.web.api.forms import (
    APIAdoptForm,
    APIDigestForm,
    ApiRetryForm,
    APIScheduleForm,
    NothingForm,
    PlanForm,
    ReviewForm,
    WaitForm,
)
from applyviz.web.api.guard import check, read_body, requires, show
from applyviz.web.api.inputs import add_files, find_cluster, has_manifests, read_files, refuse_parts
from applyviz.web.api.moves import Move, expand_moves, read_moves
from applyviz.web.api.patches import expand_patches
from applyviz.web.api.presets import fill_body
from applyviz.web.api.problems import ProblemsError, SourceProblem, collect
from applyviz.web.frame import streams
from applyviz.workflow import runs, worker_requests
from applyviz.workflow.clusters import registration
from applyviz.workflow.following import branches
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.people import tokens
from applyviz.workflow.people.tokens import Caller
from applyviz.workflow.plans import planner, reviews

OBJECTS = 100
_WORKER_SECONDS = 55.0


def _root(request: HttpRequest) -> str:
    return settings.APPLYVIZ_URL.rstrip("/") or request.build_absolute_uri("/").rstrip("/")


def _present_run(number: int, request: HttpRequest, caller: Caller) -> JSONObject:
    """Return a run as its caller may see it, read again after what they did."""
    return responses.present_run(runs.get_run(number, for_user=caller.person), root=_root(request))


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


def _expand(body: JSONObject) -> tuple[JSONObject, tuple[Move, ...]]:
    """Return the body of a review with its patches as a file and its moves as options, and the moves.

    - Raises `ProblemsError` with every problem of both lists.
    """
    space = body.get("namespace")
    namespace = space if isinstance(space, str) and space else "default"
    patched, odd = collect(lambda: expand_patches(body, namespace=namespace))
    moves, unread = collect(lambda: read_moves(body))
    if patched is None or moves is None:
        raise ProblemsError((*odd, *unread))
    return expand_moves(patched, moves, namespace=namespace), moves


@requires(Action.WRITE, "POST")
def add_review(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Open a review of some files and request its first plan; a preset fills what the body does not have."""
    sent = read_body(request)
    read = flatten(sent)
    expanded, odd = collect(lambda: _expand(read))
    body, moves = expanded or (read, ())
    given, used = fill_body(body, by=caller.person)
    form = ReviewForm(given)
    usable = registration.list_usable(for_user=caller.person)
    cluster, wrong = collect(lambda: find_cluster(usable, check(form, list_names(sent))))
    folder, space = (given.get(name) for name in ("kustomization", "namespace"))
    patches = form.patch_files if form.is_valid() else ()
    taken, unread = collect(
        lambda: read_files(
            add_files(given, patches),
            folder if isinstance(folder, str) else "",
            by=caller.person,
            cluster=cluster,
            namespace=space if isinstance(space, str) else "",
            may_wait=cluster is not None and not odd and not moves and not given.get("hand_over"),
        )
    )
    if form.is_patched_by_fields and not patches and not has_manifests(given):
        unread = ()  # the fields of the patch say what is missing
    if odd and not has_manifests(read):
        unread = ()  # its files follow from what is wrong
    if odd or cluster is None or taken is None:
        raise ProblemsError((*odd, *wrong, *unread))
    chosen = form.cleaned_data
    follows = chosen["follow"] == "true"
    if follows and not branches.can_follow(taken.bundle):
        raise ProblemsError([SourceProblem(str(branches.NOT_ONE_BRANCH), field="follow")])
    with tokens.holding(caller):
        review = reviews.create_review(
            by=caller.person,
            title=chosen["title"],
            reason=chosen["reason"],
            ticket=chosen["ticket"],
            cluster=cluster,
            options=form.choose(taken, moves),
            bundle=taken.bundle,
            preset=used,
        )
        if follows:
            branches.start_following(review, by=caller.person, seen=1)
    made = planner.get_plan(1, review_number=review.number, for_user=caller.person)
    return show(_show_plan(made, request, caller), 201)


@requires(Action.WRITE, "POST")
def adopt_objects(request: HttpRequest, caller: Caller, slug: str) -> HttpResponseBase:
    """Open one review of live objects, with their manifests as they are."""
    cluster = registration.get_cluster(slug, for_user=caller.person)
    form = APIAdoptForm(read_body(request))
    chosen = check(form)
    try:
        number = worker_requests.adopt(
            cluster,
            objects=chosen["objects"],
            title=chosen["title"],
            reason=chosen["reason"],
            options=form.options,
            by=caller.person,
            token_id=caller.token.pk,
            seconds=_WORKER_SECONDS,
        )
    except worker_requests.UnfinishedError as error:
        text = "no worker answered in time: look whether the review is there, then try again"
        raise ProblemsError([SourceProblem(text)], 503) from error
    made = planner.get_plan(1, review_number=number, for_user=caller.person)
    return show(_show_plan(made, request, caller), 201)


@requires(Action.WRITE, "POST")
def add_plan(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Re-plan with the same files, or new ones."""
    sent = read_body(request)
    given = flatten(sent)
    review = reviews.get_review(number, for_user=caller.person)
    form = PlanForm(given)
    refuse_parts(given)
    chosen, moves = check(form, list_names(sent)), read_moves(given) if "moves" in given else None
    latest = read_seen(review, chosen["seen"], caller)
    taken = None
    if has_manifests(given):
        cluster = None if latest is None else latest.target.cluster
        space = "" if latest is None else options_from_json(latest.options).namespace
        taken = read_files(
            given,
            chosen["kustomization"],
            by=caller.person,
            cluster=cluster,
            namespace=space,
            may_wait=not moves and not given.get("hand_over"),
        )
    options = None if latest is None else form.choose(latest, taken, moves)
    bundle = None if taken is None else taken.bundle
    with tokens.holding(caller):
        made = reviews.replan_review(review, by=caller.person, bundle=bundle, options=options, seen=latest)
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

    def read() -> JSONObject:
        found = planner.get_plan(plan, review_number=number, for_user=caller.person)
        return _show_plan(found, request, caller)

    def finish(document: JSONObject) -> JSONObject:
        found = planner.get_plan(plan, review_number=number, for_user=caller.person)
        listed = responses.list_objects(found, start=start, count=count)
        return {**document, "objects": listed, "objects_in_all": found.changes.count()}

    return _wait(request, caller, read, finish)


def _wait(
    request: HttpRequest,
    caller: Caller,
    read: Callable[[], JSONObject],
    finish: Callable[[JSONObject], JSONObject],
) -> HttpResponseBase:
    chosen = check(WaitForm(request.GET))

    def poll() -> JSONObject:
        if chosen["wait"]:
            tokens.require_valid(caller.token.pk)
        return read()

    return streams.answer_when(
        request,
        poll,
        is_enough=lambda document: document["mark"] != chosen["seen"],
        finish=finish,
        seconds=(chosen["wait"] or 0) if chosen["seen"] else 0,
    )


def _show_plan(plan: Plan, request: HttpRequest, caller: Caller) -> JSONObject:
    document = responses.present_plan(plan, for_user=caller.person, root=_root(request))
    return {**document, "following": present_following(plan.review)}


@requires(Action.VIEW, "POST")
def compare_plan(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Ask for a comparison of an open plan with live, at most once a minute; return the last one."""
    found = planner.get_plan(plan, review_number=number, for_user=caller.person)
    check(NothingForm(read_body(request)))
    with tokens.holding(caller):
        plan_comparison.request_comparison(found)
    return show({"live": responses.present_live(found)})


@requires(Action.APPLY, "POST")
def start_run(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Run an approved plan by the digest that was read; 409 with everything that blocks."""
    found = planner.get_plan(plan, review_number=number, for_user=caller.person)
    chosen = check(APIDigestForm(read_body(request)))
    runs.require_person(found)
    with tokens.holding(caller):
        run = runs.start_run(found, by=caller.person, digest=chosen["digest"])
    return show(_present_run(run.number, request, caller), 201)


@requires(Action.APPLY, "POST")
def schedule_start(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Schedule the run of a plan once nothing blocks it, between two moments; 409 with everything that blocks."""
    found = planner.get_plan(plan, review_number=number, for_user=caller.person)
    form = APIScheduleForm(read_body(request))
    digest = check(form)["digest"]
    first, last = form.times
    runs.require_person(found)
    with tokens.holding(caller):
        runs.schedule_start(found, by=caller.person, digest=digest, not_before=first, expires_at=last)
    return show(_show_plan(found, request, caller), 201)


@requires(Action.VIEW, "POST")
def cancel_start(request: HttpRequest, caller: Caller, number: int, plan: int) -> HttpResponseBase:
    """Cancel the scheduled start of a plan."""
    caller.require_scope(Action.WRITE)  # as a new plan does, which cancels it too
    found = planner.get_plan(plan, review_number=number, for_user=caller.person)
    check(NothingForm(read_body(request)))
    with tokens.holding(caller):
        runs.cancel_start(found, by=caller.person)
    return show(_show_plan(found, request, caller))


@requires(Action.VIEW)
def show_run(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Return the results of a run, at once or as soon as they differ from the last answer.

    - A poll counts the results, and reads them only when the counts changed.
    - With `count`, only so many objects from `start`, each with its managedFields before and after.
    """
    chosen = check(WaitForm(request.GET))
    known: tuple[object, JSONObject] = None, {}

    def read() -> JSONObject:
        nonlocal known
        run = runs.get_run(number, for_user=caller.person)
        progress = responses.read_progress(run)
        if progress != known[0]:
            presented = responses.present_run_with_results(run, for_user=caller.person, root=_root(request))
            known = progress, presented
        return known[1]

    def finish(document: JSONObject) -> JSONObject:
        if chosen["count"] is None:
            return document
        run = runs.get_run(number, for_user=caller.person)
        return responses.add_managed_fields(document, run, start=chosen["start"] or 0, count=chosen["count"])

    return _wait(request, caller, read, finish)


@requires(Action.APPLY, "POST")
def retry_run(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Retry objects of a failed run as its next attempt; 409 with everything that blocks."""
    found = runs.get_run(number, for_user=caller.person)
    chosen = check(ApiRetryForm(read_body(request)))
    runs.require_person(found.plan)
    with tokens.holding(caller):
        runs.retry_run(found, by=caller.person, attempt=chosen["attempt"], positions=chosen["objects"])
    return show(_present_run(number, request, caller))


@requires(Action.APPLY, "POST")
def cancel_run(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Cancel a run."""
    found = runs.get_run(number, for_user=caller.person)
    check(NothingForm(read_body(request)))
    with tokens.holding(caller):
        runs.cancel_run(found, by=caller.person)
    return show(_present_run(number, request, caller))
