"""The page that waits for a worker: what a form asked for, and the way to what came of it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import ErrandKind
from applyviz.records.models import Errand
from applyviz.web.frame.view_guard import PageRequest, is_fragment, needs, render_errand
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation.access import Action


@needs(Action.LOOK)
def show_errand(request: PageRequest, number: int) -> HttpResponse:
    """Busy until a worker answered; then the page that asked is loaded again, or what was made is shown."""
    errand = worker_requests.find_errand(number, by=request.user)
    if is_fragment(request) and errand.finished_at is not None:
        answer = HttpResponse()
        answer["HX-Refresh"] = "true"
        return answer
    try:
        return _lead_on(request, errand, worker_requests.read_answer(errand))
    except worker_requests.UnfinishedError as error:
        return render_errand(request, error, again_url="")


def _lead_on(request: PageRequest, errand: Errand, answer: JSONValue) -> HttpResponse:
    match errand.kind:
        case ErrandKind.UNDO:
            messages.info(request, _("Draft created. Nothing has been applied."))
            return redirect("reviews:show-review", answer["review"])
        case ErrandKind.ADOPT:
            return redirect("reviews:show-review", answer["review"])
        case ErrandKind.ADD_CLUSTER:
            messages.success(request, _("Cluster %(name)s was added.") % {"name": errand.question["name"]})
            return redirect("clusters:show-cluster", answer["cluster"])
        case ErrandKind.CREDENTIAL:
            messages.success(request, _("Credential replaced."))
            return redirect("clusters:manage-cluster", answer["cluster"])
        case _:
            return redirect("home")
