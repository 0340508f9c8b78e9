"""What a page of an object offers to keep: versions, bodies and commands as files."""

from __future__ import annotations

from django.http import HttpResponse

from applyviz.engine.planning.serialize import options_from_json
from applyviz.web.presenters import objectfiles, reviewpages
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import plans
from applyviz.workflow.access import Action
from applyviz.workflow.errors import NotVisibleError


@needs(Action.LOOK)
def show_file(request: PageRequest, number: int, plan: int, position: int, name: str) -> HttpResponse:
    """One file of one object, masked like its page."""
    found = plans.get_plan(plan, review_number=number, for_user=request.user)
    change = reviewpages.read_change(found, position)
    text = objectfiles.render_file(change, options_from_json(found.options), name)
    if not text:
        raise NotVisibleError(f"object {position} has no file of that name")
    response = HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{objectfiles.name_file(change, name)}"'
    return response
