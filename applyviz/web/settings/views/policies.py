"""Policies: the list, one with its versions, editing, the calendar, testing one on a plan."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.records.models import PendingChange, PolicyVersion
from applyviz.web.components.forms import show_refusal
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.policies import NoteForm, PolicyForm, TryForm, fill_in
from applyviz.web.settings.pages.people import present_pending
from applyviz.web.settings.pages.policies import (
    Trial,
    describe_rules,
    present_calendar,
    present_policy,
    present_trial,
    present_versions,
)
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import pending_changes
from applyviz.workflow.plans import planner
from applyviz.workflow.policies import Rules, editing, rules_from_json

_WAITS = gettext_lazy("A second administrator must confirm this. Nothing has changed yet.")


@requires(Action.VIEW)
def list_policies(request: PageRequest) -> HttpResponse:
    """List all policies in force."""
    rows = [present_policy(version) for version in editing.list_policies(for_user=request.user)]
    context = {"rows": rows, "built_in": describe_rules(Rules())}
    return render_settings(request, "policies", context)


@requires(Action.VIEW)
def show_policy(request: PageRequest, slug: str) -> HttpResponse:
    """Show one policy: its rules, its requirements for a plan, earlier versions."""
    versions = editing.list_versions(slug, for_user=request.user)
    latest, form, trial = versions[0], TryForm(request.GET or None), None
    if form.is_bound and form.is_valid():
        scope = Scope(latest.cluster_pattern, latest.namespace_pattern, latest.is_cluster_scoped)
        trial = _try(request, form, slug, scope, latest.rules)
    context = {
        "policy": present_policy(latest),
        "versions": present_versions(versions),
        "form": form,
        "trial": trial,
        "waiting": present_pending(
            pending_changes.list_waiting_of("slug", slug, for_user=request.user), for_user=request.user
        ),
    }
    return render_settings(request, "policy", context)


def _try(request: PageRequest, form: TryForm, slug: str, scope: Scope, stored: dict[str, object]) -> Trial | None:
    number, review = form.cleaned_data["plan"], form.cleaned_data["review"]
    try:
        plan = planner.get_plan(number, review_number=review, for_user=request.user)
    except NotVisibleError:
        form.add_error("plan", _("Plan not found."))
        return None
    return present_trial(plan, editing.evaluate(plan, slug=slug, scope=scope, rules=rules_from_json(stored)))


@requires(Action.MANAGE, "GET", "POST")
def add_policy(request: PageRequest) -> HttpResponse:
    """Publish the first version of a policy."""
    return _edit(request, "", {})


@requires(Action.MANAGE, "GET", "POST")
def edit_policy(request: PageRequest, slug: str) -> HttpResponse:
    """Publish the next version of a policy."""
    return _edit(request, slug, fill_in(editing.list_versions(slug, for_user=request.user)[0]))


def _edit(request: PageRequest, slug: str, initial: dict[str, object]) -> HttpResponse:
    form = PolicyForm(request.POST or None, initial=initial, for_user=request.user)
    if request.method == "POST" and form.is_valid():
        name = slug or form.cleaned_data["slug"]
        with show_refusal(form):
            made = editing.save_policy(
                name, by=request.user, scope=form.scope, rules=form.rules, note=form.cleaned_data["note"]
            )
            return _report_saved(request, name, made)
    context = {"form": form, "slug": slug}
    return render_settings(request, "edit_policy", context, status=422 if request.method == "POST" else 200)


def _report_saved(request: PageRequest, slug: str, made: PolicyVersion | PendingChange) -> HttpResponse:
    if isinstance(made, PendingChange):
        messages.warning(request, _WAITS)
        return redirect("settings:list-pending")
    messages.success(request, _("Version %(number)d published.") % {"number": made.number})
    return redirect("settings:show-policy", slug)


@requires(Action.MANAGE, "POST")
def archive_policy(request: PageRequest, slug: str) -> HttpResponse:
    """Archive a policy."""
    form = NoteForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    if editing.archive_policy(slug, by=request.user, note=note) is not None:
        messages.warning(request, _WAITS)
        return redirect("settings:show-policy", slug)
    messages.success(request, _("Policy archived."))
    return redirect("settings:list-policies")


@requires(Action.VIEW)
def show_calendar(request: PageRequest) -> HttpResponse:
    """Show when plans may run, and freezes."""
    windows, freezes = present_calendar(editing.list_policies(for_user=request.user))
    return render_settings(request, "calendar", {"windows": windows, "freezes": freezes})
