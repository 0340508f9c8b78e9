"""The page that waits for a worker after a form submission, and redirects to the result."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import WorkerRequest
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.web.frame.view_guard import PageRequest, is_fragment, render_worker_request, requires
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation.access import Action


@requires(Action.VIEW)
def show_worker_request(request: PageRequest, number: int) -> HttpResponse:
    """Show the pending state until a worker answered; then reload the asking page or show the result."""
    worker_request = worker_requests.find_worker_request(number, by=request.user)
    if is_fragment(request) and worker_request.finished_at is not None:
        answer = HttpResponse()
        answer["HX-Refresh"] = "true"
        return answer
    try:
        return _lead_on(request, worker_request, worker_requests.read_answer(worker_request))
    except worker_requests.UnfinishedError as error:
        return render_worker_request(request, error, again_url="")


def _lead_on(request: PageRequest, worker_request: WorkerRequest, answered: JSONValue) -> HttpResponse:
    answer = as_mapping(answered)
    match worker_request.kind:
        case WorkerRequestKind.UNDO:
            messages.info(request, _("Draft created. Nothing has been applied."))
            return redirect("reviews:show-review", answer["review"])
        case WorkerRequestKind.ADOPT:
            return redirect("reviews:show-review", answer["review"])
        case WorkerRequestKind.ADD_CLUSTER:
            messages.success(request, _("Cluster %(name)s was added.") % {"name": worker_request.question["name"]})
            return redirect("clusters:show-cluster", answer["cluster"])
        case WorkerRequestKind.CREDENTIAL:
            messages.success(request, _("Credential replaced."))
            return redirect("clusters:manage-cluster", answer["cluster"])
        case _:
            return redirect("home")
