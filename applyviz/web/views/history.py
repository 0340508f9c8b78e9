"""History: audit entries with filters, and one page per entry."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.forms.history import BeforeForm, HistoryForm
from applyviz.web.presenters.history import present_entry_page, present_history
from applyviz.web.views.doors import PageRequest, is_fragment, needs
from applyviz.workflow.access import Action


@needs(Action.LOOK)
def list_entries(request: PageRequest) -> HttpResponse:
    """Entries, newest first."""
    form = HistoryForm(request.GET)
    page = present_history(form.chosen, before=BeforeForm.read(request.GET))
    name = "history/_entries.html" if is_fragment(request) else "history/list.html"
    return render(request, name, {"form": form, "page": page})


@needs(Action.LOOK)
def show_entry(request: PageRequest, sequence: int) -> HttpResponse:
    """One entry with everything it holds."""
    return render(request, "history/entry.html", {"page": present_entry_page(sequence)})
