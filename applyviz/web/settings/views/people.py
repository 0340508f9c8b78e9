"""People: accounts with their roles, teams with their members, grants."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.records.enums import Role
from applyviz.records.models import PendingChange, Team
from applyviz.web.components.commit_identities import IdentityForm, present_identities
from applyviz.web.components.forms import SearchForm, show_refusal
from applyviz.web.components.pagers import ListPage, cut_page, keep_query
from applyviz.web.frame import reauthentication
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.people import GrantForm, MailForm, MemberForm, PersonForm, TeamForm
from applyviz.web.settings.pages.people import PendingRow, present_pending, present_people, present_teams
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import claims, commit_identities, confirmations, pending_changes, teams

_PER_PAGE = 50


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


@requires(Action.VIEW_ACCOUNTS)
def list_people(request: PageRequest) -> HttpResponse:
    """List accounts with their roles, in pages; `q` is a part of a name or an address."""
    text = SearchForm.read(request.GET)
    cut = cut_page(teams.list_people(for_user=request.user, text=text), request.GET.get("page"), _PER_PAGE)
    page = ListPage.of(cut, present_people(cut.object_list, for_user=request.user), keep_query(q=text))
    return render_settings(request, "people", {"page": page, "text": text})


@requires(Action.MANAGE, "GET", "POST")
def add_person(request: PageRequest) -> HttpResponse:
    """Create an account."""
    form = PersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with show_refusal(form):
            invited = teams.add_person(by=request.user, **form.cleaned_data)
            return _show_link(request, invited.person, invited.token, is_mail_pending=invited.is_mail_pending)
    return render_settings(request, "add_person", {"form": form}, status=422 if request.method == "POST" else 200)


def _show_link(request: PageRequest, person: Person, token: str, *, is_mail_pending: bool = False) -> HttpResponse:
    """Show a one-time link; no other page ever shows it."""
    link = request.build_absolute_uri(reverse("claim", args=[token]))
    name, days = person.get_username(), claims.LASTS.days
    context = {"name": name, "link": link, "days": days, "is_mail_pending": is_mail_pending}
    return render_settings(request, "invited", context)


@requires(Action.MANAGE, "POST")
def invite_again(request: PageRequest, name: str) -> HttpResponse:
    """Create another one-time link to an account that was never claimed."""
    person = teams.get_person(name, for_user=request.user)
    return _show_link(request, person, claims.make_link(person, by=request.user))


def _add_message(request: PageRequest, outcome: object, done: str) -> None:
    """Report that it is done, or that it waits for a second administrator."""
    if isinstance(outcome, PendingChange):
        messages.warning(request, _("A second administrator must confirm this. Nothing has changed yet."))
    else:
        messages.success(request, done)


@requires(Action.VIEW_ACCOUNTS)
def list_pending(request: PageRequest) -> HttpResponse:
    """List changes that wait for a second administrator, and claims of commit identities."""
    rows = present_pending(pending_changes.list_waiting(for_user=request.user), for_user=request.user)
    claims_of_identities = present_identities(commit_identities.list_claims(for_user=request.user))
    return render_settings(request, "pending", {"rows": rows, "identities": claims_of_identities})


@requires(Action.MANAGE, "POST")
def confirm_pending(request: PageRequest, number: int) -> HttpResponse:
    """Confirm a change that another administrator requested."""
    if not reauthentication.is_fresh(request):
        return redirect(f"{reverse('reauthenticate')}?{urlencode({'next': reverse('settings:list-pending')})}")
    confirmations.confirm_change(pending_changes.get_waiting(number), by=request.user)
    messages.success(request, _("Confirmed and applied."))
    return redirect("settings:list-pending")


@requires(Action.MANAGE, "POST")
def decline_pending(request: PageRequest, number: int) -> HttpResponse:
    """Decline a change that another administrator requested, or withdraw one's own."""
    pending_changes.decline(pending_changes.get_waiting(number), by=request.user)
    messages.success(request, _("Declined."))
    return redirect("settings:list-pending")


@requires(Action.VIEW_ACCOUNTS)
def show_person(request: PageRequest, name: str) -> HttpResponse:
    """Show one account: grants, teams, linked accounts."""
    return render_person(request, teams.get_person(name, for_user=request.user))


@requires(Action.MANAGE, "POST")
def grant_to_person(request: PageRequest, name: str) -> HttpResponse:
    """Grant a role to a person."""
    person, form = teams.get_person(name, for_user=request.user), GrantForm(request.POST)
    with show_refusal(form) as refusal:
        if form.is_valid():
            made = teams.grant_role(Role(form.cleaned_data["role"]), by=request.user, person=person, scope=form.scope)
            _add_message(request, made, _("Role granted."))
            return redirect("settings:show-person", name)
    return render_person(request, person, status=refusal.status, grant_form=form)


@requires(Action.MANAGE, "POST")
def end_grant(request: PageRequest, grant: int) -> HttpResponse:
    """Remove a grant."""
    found = get_visible(teams.list_grants(for_user=request.user), _("grant not found"), pk=grant)
    _add_message(request, teams.end_grant(found, by=request.user), _("Grant removed."))
    if found.person is not None:
        return redirect("settings:show-person", found.person.get_username())
    return redirect("settings:list-teams")


@requires(Action.MANAGE, "POST")
def set_active(request: PageRequest, name: str) -> HttpResponse:
    """Deactivate an account, or reactivate it."""
    person = teams.get_person(name, for_user=request.user)
    made = teams.set_active(person, by=request.user, is_active=not person.is_active)
    _add_message(request, made, _("Account saved."))
    return redirect("settings:show-person", name)


@requires(Action.MANAGE, "POST")
def link_accounts(request: PageRequest, name: str) -> HttpResponse:
    """Link two accounts of one person."""
    person = teams.get_person(name, for_user=request.user)
    form = MemberForm(request.POST, for_user=request.user, without=(name,))
    with show_refusal(form, "person") as refusal:
        if form.is_valid():
            other = teams.get_person(form.cleaned_data["person"], for_user=request.user)
            made = teams.link_accounts([person, other], by=request.user)
            _add_message(request, made, _("Accounts linked; they now count as one person for approvals."))
            return redirect("settings:show-person", name)
    return render_person(request, person, status=refusal.status, link_form=form)


@requires(Action.MANAGE, "POST")
def unlink_account(request: PageRequest, name: str) -> HttpResponse:
    """Unlink an account from the others of its person."""
    made = teams.unlink_account(teams.get_person(name, for_user=request.user), by=request.user)
    _add_message(request, made, _("Account unlinked; it now counts as another person for approvals."))
    return redirect("settings:show-person", name)


@requires(Action.MANAGE, "POST")
def set_mail(request: PageRequest, name: str) -> HttpResponse:
    """Change the email address of an account."""
    person, form = teams.get_person(name, for_user=request.user), MailForm(request.POST)
    with show_refusal(form, "email") as refusal:
        if form.is_valid():
            made = teams.set_mail(person, form.cleaned_data["email"], by=request.user)
            _add_message(request, made, _("Email address saved."))
            return redirect("settings:show-person", name)
    return render_person(request, person, status=refusal.status, mail_form=form)


@requires(Action.VIEW)
def list_teams(request: PageRequest) -> HttpResponse:
    """List teams and their members, in pages."""
    has_grants = access.can(request.user, Action.VIEW_ACCOUNTS)
    cut = cut_page(teams.list_teams(for_user=request.user), request.GET.get("page"), _PER_PAGE)
    page = ListPage.of(cut, present_teams(cut.object_list, for_user=request.user, has_grants=has_grants))
    return render_settings(request, "teams", {"page": page, "has_grants": has_grants})


@requires(Action.MANAGE, "GET", "POST")
def add_team(request: PageRequest) -> HttpResponse:
    """Create a team."""
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with show_refusal(form):
            teams.create_team(by=request.user, **form.cleaned_data)
            messages.success(request, _("Team created."))
            return redirect("settings:show-team", form.cleaned_data["slug"])
    return render_settings(request, "add_team", {"form": form}, status=422 if request.method == "POST" else 200)


@requires(Action.VIEW)
def show_team(request: PageRequest, slug: str) -> HttpResponse:
    """Show one team: members and grants."""
    return render_team(request, teams.get_team(slug, for_user=request.user))


@requires(Action.MANAGE, "POST")
def add_member(request: PageRequest, slug: str) -> HttpResponse:
    """Add a person to a team."""
    team, form = teams.get_team(slug, for_user=request.user), MemberForm(request.POST, for_user=request.user)
    with show_refusal(form, "person") as refusal:
        if form.is_valid():
            person = teams.get_person(form.cleaned_data["person"], for_user=request.user)
            made = teams.add_member(team, person, by=request.user)
            _add_message(request, made, _("%(name)s added to the team.") % {"name": person.get_username()})
            return redirect("settings:show-team", slug)
    return render_team(request, team, status=refusal.status, member_form=form)


@requires(Action.MANAGE, "POST")
def end_member(request: PageRequest, slug: str, member: int) -> HttpResponse:
    """Remove a person from a team."""
    team = teams.get_team(slug, for_user=request.user)
    found = get_visible(team.members.select_related("team", "person"), _("member not found"), pk=member)
    _add_message(request, teams.end_member(found, by=request.user), _("Member removed."))
    return redirect("settings:show-team", slug)


@requires(Action.MANAGE, "POST")
def grant_to_team(request: PageRequest, slug: str) -> HttpResponse:
    """Grant a role to a team."""
    team, form = teams.get_team(slug, for_user=request.user), GrantForm(request.POST)
    with show_refusal(form) as refusal:
        if form.is_valid():
            made = teams.grant_role(Role(form.cleaned_data["role"]), by=request.user, team=team, scope=form.scope)
            _add_message(request, made, _("Role granted."))
            return redirect("settings:show-team", slug)
    return render_team(request, team, status=refusal.status, grant_form=form)


@requires(Action.MANAGE, "POST")
def archive_team(request: PageRequest, slug: str) -> HttpResponse:
    """Archive a team."""
    made = teams.archive_team(teams.get_team(slug, for_user=request.user), by=request.user)
    _add_message(request, made, _("Team archived."))
    return redirect("settings:list-teams")
