"""The state of the installation, for administrators: what waits for workers, and what is wrong."""

from __future__ import annotations

from django.http import HttpResponse

from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.ops import health


@requires(Action.MANAGE)
def show_installation(request: PageRequest) -> HttpResponse:
    """Show the queues of the workers and every problem, or that there is none."""
    return render_settings(request, "installation", {"health": health.read_health(for_user=request.user)})
