"""Commit identities of other people, for administrators: link, verify, remove."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.records.git_enums import IdentityKind
from applyviz.web.components.commit_identities import IdentityForm
from applyviz.web.components.forms import show_refusal
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.views.people import render_person
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.people import commit_identities, teams


@requires(Action.MANAGE, "POST")
def link_identity(request: PageRequest, name: str) -> HttpResponse:
    """Link an identity to an account; a second administrator confirms it where there is one."""
    person, form = teams.get_person(name, for_user=request.user), IdentityForm(request.POST)
    with show_refusal(form, "value") as refusal:
        if form.is_valid():
            kind = IdentityKind(form.cleaned_data["kind"])
            if commit_identities.link(person, kind, form.cleaned_data["value"], by=request.user) is None:
                messages.success(request, _("Identity linked."))
            else:
                messages.warning(request, _("A second administrator must confirm this. Nothing has changed yet."))
            return redirect("settings:show-person", name)
    return render_person(request, person, status=refusal.status, identity_form=form)


@requires(Action.MANAGE, "POST")
def verify_identity(request: PageRequest, number: int) -> HttpResponse:
    """Verify the claim of another person."""
    found = commit_identities.get_identity(number, by=request.user)
    try:
        commit_identities.verify(found, by=request.user)
    except WorkflowError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Identity verified."))
    return redirect("settings:show-person", found.person.get_username())


@requires(Action.MANAGE, "POST")
def remove_identity(request: PageRequest, number: int) -> HttpResponse:
    """Remove an identity or a claim of a person."""
    found = commit_identities.get_identity(number, by=request.user)
    commit_identities.end(found, by=request.user)
    messages.warning(request, _("Identity removed. The person stays an editor of commits that it named."))
    return redirect("settings:show-person", found.person.get_username())
