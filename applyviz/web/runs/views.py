"""Apply runs: their list, live progress per object, each object's requests and answers, cancel."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.records.enums import RunState
from applyviz.web.components.list_filters import ListFilterForm
from applyviz.web.frame import streams
from applyviz.web.frame.streams import StreamEvent
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.web.runs.forms import RetryForm, RowsForm, ShownForm, UndoForm
from applyviz.web.runs.pages.live_health import present_live
from applyviz.web.runs.pages.requests import present_requests
from applyviz.web.runs.pages.retries import present_retry
from applyviz.web.runs.pages.run_events import find_moves
from applyviz.web.runs.pages.run_list import present_run_list
from applyviz.web.runs.pages.run_page import present_pane, present_run
from applyviz.workflow import runs as use_cases
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.live_values import list_hidden_results


@requires(Action.VIEW)
def list_runs(request: PageRequest) -> HttpResponse:
    """List the runs that match, newest first; as a fragment when filters change or a run goes on."""
    form = ListFilterForm(request.GET, states=RunState.choices, person=_("Started by"), for_user=request.user)
    found = present_run_list(form.read(), page=RowsForm.read_page(request.GET), for_user=request.user)
    is_part = is_fragment(request)
    context = {"form": form, "page": found.page, "is_moving": found.is_moving, "is_part": is_part}
    return render(request, "runs/_list.html" if is_part else "runs/list.html", context)


@requires(Action.VIEW)
def show_run(request: PageRequest, number: int) -> HttpResponse:
    """Show one run; as a fragment while it is running."""
    run = use_cases.get_run(number, for_user=request.user)
    if not is_fragment(request):
        page = present_run(run, for_user=request.user, is_whole=RowsForm.is_whole(request.GET))
        return render(request, "runs/run.html", {"page": page})
    shows, seen = ShownForm.read(request.GET)
    page = present_run(run, for_user=request.user, position=shows)
    has_moved = page.pane is not None and page.pane.mark != seen
    return render(request, "runs/_progress.html", {"page": page, "has_moved": has_moved})


@requires(Action.VIEW)
def list_requests(request: PageRequest, number: int) -> HttpResponse:
    """Every request of a run in the order it was sent."""
    run = use_cases.get_run(number, for_user=request.user)
    page = present_requests(run, for_user=request.user, page=RowsForm.read_page(request.GET))
    return render(request, "runs/requests.html", {"page": page.run, "requests": page})


@requires(Action.VIEW)
def show_live(request: PageRequest, number: int) -> HttpResponse:
    """Show how far the live objects of a run are, read now; as a fragment for a page that is open."""
    run = use_cases.get_run(number, for_user=request.user)
    found = worker_requests.read_run_health(run, by=request.user, after=visible_worker_request(request))
    context = {"live": present_live(run, found), "url": request.path}
    if is_fragment(request):
        return render(request, "runs/_live.html", context)
    return render(
        request, "runs/live.html", {**context, "page": present_run(run, for_user=request.user, has_body=False)}
    )


@requires(Action.VIEW)
def stream_moves(request: PageRequest, number: int) -> HttpResponseBase:
    """Stream changes of a run as server-sent events."""
    run = use_cases.get_run(number, for_user=request.user)
    hidden = {result.pk for result in list_hidden_results(run)}

    def poll(cursor: str) -> StreamEvent | None:
        event = find_moves(run.pk, cursor, hidden=hidden)
        if event is not None:
            now = use_cases.get_run(number, for_user=streams.find_reader(request))
            if not hidden.issuperset(result.pk for result in list_hidden_results(now)):
                raise NotVisibleError("the reader may see less of the run")
        return event

    return streams.stream_events(request, poll)


@requires(Action.VIEW)
def show_result(request: PageRequest, number: int, position: int) -> HttpResponse:
    """Show the requests and answers of one object, masked."""
    run = use_cases.get_run(number, for_user=request.user)
    if is_fragment(request):
        return render(
            request, "runs/_pane.html", {"pane": present_pane(run, position, present_retry(run, request.user))}
        )
    return render(request, "runs/run.html", {"page": present_run(run, for_user=request.user, position=position)})


@requires(Action.APPLY, "POST")
def cancel(request: PageRequest, number: int) -> HttpResponse:
    """Cancel a run after the current object. Until then, the page says that the run is being canceled."""
    run = use_cases.get_run(number, for_user=request.user)
    use_cases.cancel_run(run, by=request.user)
    return redirect("runs:show-run", number)


@requires(Action.APPLY, "POST")
def retry(request: PageRequest, number: int) -> HttpResponse:
    """Retry one object of a failed run, or all that can be, as its next attempt."""
    run = use_cases.get_run(number, for_user=request.user)
    attempt, positions = RetryForm.read(request.POST)
    use_cases.retry_run(run, by=request.user, attempt=attempt, positions=positions)
    messages.info(request, _("Retrying: each object is checked for the approved effect first."))
    return redirect("runs:show-run", number)


@requires(Action.WRITE, "POST")
def undo(request: PageRequest, number: int) -> HttpResponse:
    """Open a review of what would undo a finished run; nothing is applied by it."""
    run = use_cases.get_run(number, for_user=request.user)
    only_lost = UndoForm.restores_deleted(request.POST)
    number = worker_requests.undo_run(run, by=request.user, only_lost=only_lost)
    messages.info(request, _("Draft created. Nothing has been applied."))
    return redirect("reviews:show-review", number)
