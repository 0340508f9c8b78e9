"""The common context of settings pages: what this person may do there."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.frame.view_guard import PageRequest
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action


def render_settings(
    request: PageRequest, name: str, context: Mapping[str, object], *, status: int = 200
) -> HttpResponse:
    """Render one page of the settings."""
    rights = {
        "can_manage": access.can(request.user, Action.MANAGE),
        "can_oversee": access.can(request.user, Action.VIEW_ACCOUNTS),
    }
    return render(request, f"settings/{name}.html", {**rights, **context}, status=status)
