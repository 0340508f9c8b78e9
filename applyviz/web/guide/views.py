"""The guide: the rules of apply, one page each, with examples that are computed when the page is rendered."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.components.forms import SearchForm
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.guide import pages as presenter
from applyviz.workflow.foundation.access import Action


@requires(Action.EXPLORE)
def show_guide(request: PageRequest) -> HttpResponse:
    """List all pages by the question that each answers, or those with the words of a search."""
    return render(request, "guide/guide.html", {"page": presenter.present_index(SearchForm.read(request.GET))})


@requires(Action.EXPLORE)
def show_page(request: PageRequest, page: str) -> HttpResponse:
    """Show one rule with its worked examples."""
    return render(request, "guide/page.html", {"page": presenter.present_guide_page(page)})
