"""Identity mappings: the Kubernetes identity of people on each cluster; auditors can read them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.web.components.forms import SearchForm, show_refusal
from applyviz.web.components.pagers import ListPage, cut_page, keep_query
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.impersonation import MappingForm
from applyviz.web.settings.pages.tokens import present_mappings
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation.access import Action

_PER_PAGE = 50


@requires(Action.VIEW_ACCOUNTS)
def list_identities(request: PageRequest) -> HttpResponse:
    """List active and ended mappings in pages; `q` is a part of a name."""
    text = SearchForm.read(request.GET)
    found = impersonation.list_mappings(for_user=request.user, text=text)
    cut = cut_page(found.filter(ended_at=None), request.GET.get("page"), _PER_PAGE)
    ended = cut_page(found.exclude(ended_at=None), request.GET.get("ended"), _PER_PAGE)
    page = ListPage.of(cut, present_mappings(cut.object_list), keep_query(q=text, ended=ended.number))
    context = {
        "text": text,
        "page": page,
        "rows": page.rows,
        "ended": ListPage.of(ended, present_mappings(ended.object_list), keep_query(q=text, page=cut.number), "ended"),
    }
    return render_settings(request, "identities", context)


@requires(Action.MANAGE, "GET", "POST")
def add_identity(request: PageRequest) -> HttpResponse:
    """Add a mapping; the earlier one of the same subject ends."""
    form = MappingForm(request.POST or None, for_user=request.user, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        with show_refusal(form):
            impersonation.map_identity(form.cleaned_data["cluster"], form.draft, by=request.user)
            messages.success(request, _("Mapping saved. Plans created under another identity must be re-planned."))
            return redirect("settings:list-identities")
    return render_settings(request, "add_identity", {"form": form}, status=422 if form.errors else 200)


@requires(Action.MANAGE, "POST")
def end_identity(request: PageRequest, pk: int) -> HttpResponse:
    """Remove a mapping."""
    impersonation.end_mapping(impersonation.get_mapping(pk, for_user=request.user), by=request.user)
    messages.success(request, _("Mapping removed. Plans created under it must be re-planned."))
    return redirect("settings:list-identities")
