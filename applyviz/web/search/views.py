"""Search: everything that one text finds."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.components.forms import SearchForm
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.search.pages import present_search
from applyviz.workflow.foundation.access import Action


@requires(Action.VIEW)
def search(request: PageRequest) -> HttpResponse:
    """Show the results that this person may see."""
    page = present_search(request.user, SearchForm.read(request.GET))
    return render(request, "search/search.html", {"page": page})
