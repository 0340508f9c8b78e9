"""People: accounts with their roles, teams with their members, grants."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.records.enums import Role
from applyviz.web.forms.people import ChoiceOfTeamForm, GrantForm, MemberForm, PersonForm, TeamForm
from applyviz.web.presenters.people import present_people, present_teams
from applyviz.web.views.doors import PageRequest, needs
from applyviz.web.views.settingspages import render_settings
from applyviz.workflow import access, teams
from applyviz.workflow.access import Action
from applyviz.workflow.errors import NotValidError, NotVisibleError, WorkflowError


def _try(request: PageRequest, form: Form, act: Callable[[], object], done: str) -> bool:
    """Do it when the form is good; what the use case refuses is told at the form."""
    if request.method != "POST" or not form.is_valid():
        return False
    try:
        act()
    except WorkflowError as error:
        form.add_error(None, str(error))
        return False
    messages.success(request, done)
    return True


@needs(Action.OVERSEE)
def list_people(request: PageRequest) -> HttpResponse:
    """All accounts and what they may."""
    rows = present_people(teams.list_people(for_user=request.user), for_user=request.user)
    context = {"rows": rows}
    return render_settings(request, "people", context)


@needs(Action.MANAGE, "GET", "POST")
def add_person(request: PageRequest) -> HttpResponse:
    """Make an account."""
    form = PersonForm(request.POST or None)

    def act() -> None:
        teams.add_person(by=request.user, **form.cleaned_data)

    if _try(request, form, act, _("The account is made; it needs a role.")):
        return redirect("settings:show-person", form.cleaned_data["name"])
    status = 422 if request.method == "POST" else 200
    return render_settings(request, "add_person", {"form": form}, status=status)


@needs(Action.OVERSEE)
def show_person(request: PageRequest, name: str) -> HttpResponse:
    """One account: grants, teams, accounts of the same human."""
    person = teams.get_person(name, for_user=request.user)
    context = {
        "person": present_people([person], for_user=request.user)[0],
        "grant_form": GrantForm(),
        "team_form": ChoiceOfTeamForm(for_user=request.user),
        "link_form": MemberForm(for_user=request.user),
        "is_self": person.pk == request.user.pk,
    }
    return render_settings(request, "person", context)


@needs(Action.MANAGE, "POST")
def grant_to_person(request: PageRequest, name: str) -> HttpResponse:
    """Give a role to a person."""
    person, form = teams.get_person(name, for_user=request.user), GrantForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose a role and where it holds"))
    teams.grant_role(Role(form.cleaned_data["role"]), by=request.user, person=person, scope=form.scope)
    messages.success(request, _("The role is granted."))
    return redirect("settings:show-person", name)


@needs(Action.MANAGE, "POST")
def end_grant(request: PageRequest, grant: int) -> HttpResponse:
    """Take a role back."""
    found = teams.list_grants(for_user=request.user).filter(pk=grant).first()
    if found is None:
        raise NotVisibleError(_("there is no such grant"))
    teams.end_grant(found, by=request.user)
    messages.success(request, _("The grant is ended."))
    if found.person is not None:
        return redirect("settings:show-person", found.person.get_username())
    return redirect("settings:list-teams")


@needs(Action.MANAGE, "POST")
def set_active(request: PageRequest, name: str) -> HttpResponse:
    """Close an account, or open it again."""
    person = teams.get_person(name, for_user=request.user)
    teams.set_active(person, by=request.user, is_active=not person.is_active)
    messages.success(request, _("The account is changed."))
    return redirect("settings:show-person", name)


@needs(Action.MANAGE, "POST")
def link_accounts(request: PageRequest, name: str) -> HttpResponse:
    """Say that two accounts are one human."""
    person, form = teams.get_person(name, for_user=request.user), MemberForm(request.POST, for_user=request.user)
    if not form.is_valid():
        raise NotValidError(_("choose the other account"))
    other = teams.get_person(form.cleaned_data["person"], for_user=request.user)
    teams.link_accounts([person, other], by=request.user)
    messages.success(request, _("Both count as one from now on."))
    return redirect("settings:show-person", name)


@needs(Action.LOOK)
def list_teams(request: PageRequest) -> HttpResponse:
    """All teams and who is in them."""
    has_grants = access.can(request.user, Action.OVERSEE)
    rows = present_teams(teams.list_teams(for_user=request.user), for_user=request.user, has_grants=has_grants)
    context = {"rows": rows, "has_grants": has_grants}
    return render_settings(request, "teams", context)


@needs(Action.MANAGE, "GET", "POST")
def add_team(request: PageRequest) -> HttpResponse:
    """Make a team."""
    form = TeamForm(request.POST or None)
    if _try(request, form, lambda: teams.create_team(by=request.user, **form.cleaned_data), _("The team is made.")):
        return redirect("settings:show-team", form.cleaned_data["slug"])
    return render_settings(request, "add_team", {"form": form}, status=422 if request.method == "POST" else 200)


@needs(Action.LOOK)
def show_team(request: PageRequest, slug: str) -> HttpResponse:
    """One team: members and what it grants them."""
    team, has_grants = teams.get_team(slug, for_user=request.user), access.can(request.user, Action.OVERSEE)
    can_manage = access.can(request.user, Action.MANAGE)
    context = {
        "team": present_teams([team], for_user=request.user, has_grants=has_grants)[0],
        "has_grants": has_grants,
        "can_manage": can_manage,
        "grant_form": GrantForm(),
        "member_form": MemberForm(for_user=request.user) if can_manage else None,
    }
    return render_settings(request, "team", context)


@needs(Action.MANAGE, "POST")
def add_member(request: PageRequest, slug: str) -> HttpResponse:
    """Put somebody into a team."""
    team, form = teams.get_team(slug, for_user=request.user), MemberForm(request.POST, for_user=request.user)
    if not form.is_valid():
        raise NotValidError(_("choose a person"))
    person = teams.get_person(form.cleaned_data["person"], for_user=request.user)
    teams.add_member(team, person, by=request.user)
    messages.success(request, _("%(name)s is in the team.") % {"name": person.get_username()})
    return redirect("settings:show-team", slug)


@needs(Action.MANAGE, "POST")
def end_member(request: PageRequest, slug: str, member: int) -> HttpResponse:
    """Take somebody out of a team."""
    team = teams.get_team(slug, for_user=request.user)
    found = team.members.filter(pk=member).select_related("team", "person").first()
    if found is None:
        raise NotVisibleError(_("there is no such member"))
    teams.end_member(found, by=request.user)
    messages.success(request, _("The membership is ended."))
    return redirect("settings:show-team", slug)


@needs(Action.MANAGE, "POST")
def grant_to_team(request: PageRequest, slug: str) -> HttpResponse:
    """Give a role to a team."""
    team, form = teams.get_team(slug, for_user=request.user), GrantForm(request.POST)
    if not form.is_valid():
        raise NotValidError(_("choose a role and where it holds"))
    teams.grant_role(Role(form.cleaned_data["role"]), by=request.user, team=team, scope=form.scope)
    messages.success(request, _("The role is granted."))
    return redirect("settings:show-team", slug)


@needs(Action.MANAGE, "POST")
def retire_team(request: PageRequest, slug: str) -> HttpResponse:
    """End a team."""
    teams.retire_team(teams.get_team(slug, for_user=request.user), by=request.user)
    messages.success(request, _("The team is retired."))
    return redirect("settings:list-teams")
