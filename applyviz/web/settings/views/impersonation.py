"""Identity mappings: the Kubernetes identity of people on each cluster; auditors can read them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.web.components.forms import show_refusal
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.impersonation import MappingForm
from applyviz.web.settings.pages.tokens import present_mappings
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation.access import Action


@requires(Action.VIEW_ACCOUNTS)
def list_identities(request: PageRequest) -> HttpResponse:
    """List active and ended mappings."""
    rows = present_mappings(impersonation.list_mappings(for_user=request.user))
    context = {"rows": [row for row in rows if row.ended_at is None], "ended": [row for row in rows if row.ended_at]}
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
