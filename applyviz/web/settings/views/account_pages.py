"""The pages of one account and of one team: their forms, and those that come back because they were refused."""

from __future__ import annotations

from django import forms
from django.http import HttpResponse

from applyviz.records.models import Team
from applyviz.web.components.commit_identities import IdentityForm, present_identities
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.settings.forms.people import GrantForm, MailForm, MemberForm
from applyviz.web.settings.pages.people import PendingRow, present_pending, present_people, present_teams
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.people import commit_identities, pending_changes


def _present_waiting(request: PageRequest, name: str, value: int) -> tuple[PendingRow, ...]:
    found = pending_changes.list_waiting_of(name, value, for_user=request.user)
    return present_pending(found, for_user=request.user)


def render_person(request: PageRequest, person: Person, *, status: int = 200, **refused: forms.Form) -> HttpResponse:
    """Show one account: grants, teams, linked accounts; `refused` are forms of the page, as they were filled in."""
    row = present_people([person], for_user=request.user)[0]
    context = {
        "person": row,
        "grant_form": GrantForm(),
        "link_form": MemberForm(for_user=request.user, without=(row.name, *row.same_as)),
        "identities": present_identities(commit_identities.list_own(person).select_related("person")),
        "identity_form": IdentityForm(),
        "mail_form": MailForm(initial={"email": person.email}),
        "waiting": _present_waiting(request, "person", person.pk),
        "is_self": person.pk == request.user.pk,
        "is_unclaimed": not person.has_usable_password() and not hasattr(person, "service"),
    }
    return render_settings(request, "person", {**context, **refused}, status=status)


def render_team(request: PageRequest, team: Team, *, status: int = 200, **refused: forms.Form) -> HttpResponse:
    """Show one team: members and grants; `refused` are forms of the page, as they were filled in."""
    has_grants = access.can(request.user, Action.VIEW_ACCOUNTS)
    can_manage = access.can(request.user, Action.MANAGE)
    context = {
        "team": present_teams([team], for_user=request.user, has_grants=has_grants)[0],
        "has_grants": has_grants,
        "can_manage": can_manage,
        "waiting": _present_waiting(request, "team", team.pk),
        "grant_form": GrantForm(),
        "member_form": MemberForm(for_user=request.user) if can_manage else None,
    }
    return render_settings(request, "team", {**context, **refused}, status=status)
