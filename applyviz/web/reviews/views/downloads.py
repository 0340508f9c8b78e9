"""Downloads: versions, bodies and commands of an object as files, all requests of a plan as one archive."""

from __future__ import annotations

import io
import zipfile

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.pages import request_archive
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.tab import present_graph
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pane import object_files
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import live_values


@requires_plan(Action.VIEW)
def show_file(request: PageRequest, plan: Plan, position: int, name: str) -> HttpResponse:
    """Download one file of one object, masked like its page."""
    change = live_values.read_change(plan, position)
    text = object_files.render_file(change, options_from_json(plan.options), name)
    if not text:
        raise NotVisibleError(f"object {position} has no file of that name")
    response = HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{object_files.name_file(change, name)}"'
    return response


@requires_plan(Action.VIEW)
def keep_requests(request: PageRequest, plan: Plan) -> HttpResponse:
    """Download every request of a complete plan as one archive, masked like its pages."""
    if plan.state != PlanState.COMPLETE:
        raise NotVisibleError(f"plan {plan.number} is not complete, so it has no requests yet")
    folder = f"review-{plan.review.number}-plan-{plan.number}"
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in request_archive.list_files(plan):
            about = zipfile.ZipInfo(f"{folder}/{file.name}")
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = (0o755 if file.is_script else 0o644) << 16
            archive.writestr(about, file.text)
    response = HttpResponse(kept.getvalue(), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{folder}-requests.zip"'
    return response


@requires_plan(Action.VIEW)
def export_graph(request: PageRequest, plan: Plan) -> HttpResponse:
    """Return the picture of a complete plan as a file, masked like its page."""
    graph = present_graph(read_context(plan, for_user=request.user), GraphChoice.read(request.GET))
    if graph.drawn is None:
        raise NotVisibleError(f"plan {plan.number} has no graph yet")
    response = render(request, "reviews/graph.svg", {"drawn": graph.drawn}, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="review-{plan.review.number}-plan-{plan.number}.svg"'
    return response
