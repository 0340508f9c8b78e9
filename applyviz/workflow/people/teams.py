"""Accounts, teams and grants, managed by administrators; each step is audited.

Memberships and grants end with a time stamp and are never deleted. People cannot grant a role to themselves, to their
own team or to a linked account, and the last administrator stays. Roles that approve, run or administer, links between
accounts and their end, email addresses, and members of teams that policies name require a second administrator
(`administrators`).
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import Grant, PendingChange, ServiceAccount, Team, TeamMember
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import (
    FieldRefusedError,
    NotAllowedError,
    NotValidError,
)
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import (
    account_links,
    administrators,
    claims,
    pending_changes,
    policy_changes,
    rights_changes,
)
from applyviz.workflow.people.rights_changes import Actors

_ADMINISTERS = frozenset({Role.ADMINISTRATOR})


class Invited(Struct, frozen=True):
    """A new account, and the secret of its claim link, which is shown once.

    - `is_mail_pending`: a second administrator must confirm its address first.
    """

    person: Person
    token: str
    is_mail_pending: bool = False


def list_people(*, for_user: Visitor, text: str = "") -> QuerySet[Person]:
    """Return the accounts whose name or address contains a text, "" for all; for administrators and auditors."""
    access.require(for_user, Action.VIEW_ACCOUNTS)
    found = Person.objects.order_by("username")
    return found.filter(Q(username__icontains=text) | Q(email__icontains=text)) if text else found


def get_person(name: str, *, for_user: Visitor) -> Person:
    """Return one account by its name; raises `NotVisibleError`."""
    access.require(for_user, Action.VIEW_ACCOUNTS)
    return get_visible(Person.objects, f"there is no account {name}", username=name)


def list_teams(*, for_user: Visitor) -> QuerySet[Team]:
    """Return the teams that are not archived; visible to every member, because policies name them."""
    access.require(for_user, Action.VIEW)
    return Team.objects.filter(archived_at=None).prefetch_related("members__person")


def get_team(slug: str, *, for_user: Visitor) -> Team:
    """Return one team by its slug; raises `NotVisibleError`."""
    return get_visible(list_teams(for_user=for_user), f"there is no team {slug}", slug=slug)


def list_grants(*, for_user: Visitor) -> QuerySet[Grant]:
    """Return all grants in force."""
    access.require(for_user, Action.VIEW_ACCOUNTS)
    return Grant.objects.filter(ended_at=None).select_related("person", "team", "by", "confirmed_by")


def add_person(*, by: Person, name: str, email: str) -> Invited:
    """Create an account without roles; the invited person sets its password by the link.

    - The inviting administrator never learns the password: the link works once, and for some days.
    - The address is like any other change of one (`set_mail`).
    """
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        try:
            with transaction.atomic():
                made = Person.objects.create_user(name)
        except IntegrityError as error:
            raise FieldRefusedError("name", _("account %(name)s already exists") % {"name": name}) from error
        trail.record(AuditAction.PERSON_ADDED, by=by, about=trail.AuditSubject(), detail={"account": name})
        waiting = set_mail(made, email, by=by) if email else None
        return Invited(made, claims.make_link(made, by=by), waiting is not None)


def set_active(person: Person, *, by: Person, is_active: bool) -> PendingChange | None:
    """Activate or deactivate an account; its grants stay but do not count while it is deactivated.

    - Returns the pending change if a second administrator must confirm: to deactivate an administrator, and to activate
      an account that approves, runs or administers.
    """
    access.require(by, Action.MANAGE)
    if administrators.is_same_human(person, by):
        raise NotAllowedError(_("you can't deactivate or reactivate your own account"))
    is_delicate = administrators.holds_sensitive(person) if is_active else _is_administrator(person)
    if is_delicate and administrators.needs_second():
        kind = PendingKind.ACTIVATE if is_active else PendingKind.DEACTIVATE
        return pending_changes.ask(kind, by=by, given={"person": person.pk}, summary={"account": person.get_username()})
    rights_changes.set_active(person, is_active=is_active, actors=Actors(by))
    return None


def _is_administrator(person: Person) -> bool:
    return any(one.pk == person.pk for one in administrators.list_current())


def link_accounts(accounts: Iterable[Person], *, by: Person) -> PendingChange | None:
    """Link accounts of one person: none of them can approve what another wrote, and they count once.

    - Returns the pending change if a second administrator must confirm.
    - Raises `NotAllowedError` for accounts of two administrators.
    """
    access.require(by, Action.MANAGE)
    accounts = sorted({person.pk: person for person in accounts}.values(), key=lambda one: one.pk)
    if len(accounts) < 2:
        raise NotValidError(_("name at least two accounts"))
    account_links.require_linkable(accounts)
    if administrators.needs_second():
        summary: dict[str, JSONValue] = {"accounts": sorted(person.get_username() for person in accounts)}
        given: JSONObject = {"people": [person.pk for person in accounts]}
        return pending_changes.ask(PendingKind.LINK, by=by, given=given, summary=summary)
    rights_changes.link_accounts(accounts, actors=Actors(by))
    return None


def unlink_account(person: Person, *, by: Person) -> PendingChange | None:
    """Unlink an account: it may approve what the other accounts write, and they what it writes.

    - Returns the pending change if a second administrator must confirm. The number of administrators stays.
    - Raises `NotAllowedError` for one's own accounts, `NotPossibleError` where something else than a link unites them.
    """
    access.require(by, Action.MANAGE)
    if administrators.is_same_human(person, by):
        raise NotAllowedError(_("another administrator must unlink your own accounts"))
    account_links.require_separable(person)
    if administrators.needs_second():
        linked: list[JSONValue] = [one.get_username() for one in account_links.list_linked(person)]
        summary: dict[str, JSONValue] = {"account": person.get_username(), "unlinked from": linked}
        return pending_changes.ask(PendingKind.UNLINK, by=by, given={"person": person.pk}, summary=summary)
    rights_changes.unlink_account(person, actors=Actors(by))
    return None


def set_mail(person: Person, email: str, *, by: Person) -> PendingChange | None:
    """Change the email address of an account: it names a person to notify, who wrote commits, and linked accounts.

    - Returns the pending change if a second administrator must confirm.
    - Raises `NotAllowedError` for one's own account where there are two administrators, and for an address that would
      link two administrators.
    """
    access.require(by, Action.MANAGE)
    account_links.require_linkable([person, *account_links.list_sharing(email)])
    if not administrators.needs_second():
        rights_changes.set_mail(person, email, actors=Actors(by))
        return None
    if administrators.is_same_human(person, by):
        raise NotAllowedError(_("another administrator must change your email address"))
    summary: dict[str, JSONValue] = {"account": person.get_username(), "mail": email}
    return pending_changes.ask(PendingKind.MAIL, by=by, given={"person": person.pk, "mail": email}, summary=summary)


def create_team(*, by: Person, slug: str, name: str) -> Team:
    """Create a team without members."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        try:
            with transaction.atomic():
                team = Team.objects.create(slug=slug, name=name, created_at=clock.now())
        except IntegrityError as error:
            raise FieldRefusedError("slug", _("team %(slug)s already exists") % {"slug": slug}) from error
        trail.record(AuditAction.TEAM_CHANGED, by=by, about=trail.AuditSubject(), detail={"team": slug, "made": name})
    return team


def _is_relied_on(team: Team, roles: frozenset[Role]) -> bool:
    """Return whether a team gives its members one of these roles, or a policy in force names it."""
    return administrators.gives(team, roles) or policy_changes.is_named(team)


def archive_team(team: Team, *, by: Person) -> PendingChange | None:
    """Archive a team: its grants no longer count, and policies that name it can no longer be met.

    - Returns the pending change if a second administrator must confirm: for a team that administers or a policy names.
    """
    access.require(by, Action.MANAGE)
    if _is_relied_on(team, _ADMINISTERS) and administrators.needs_second():
        return pending_changes.ask(
            PendingKind.ARCHIVE_TEAM, by=by, given={"team": team.pk}, summary={"team": team.slug}
        )
    rights_changes.archive_team(team, actors=Actors(by))
    return None


def add_member(team: Team, person: Person, *, by: Person) -> TeamMember | PendingChange:
    """Add a person to a team.

    - Returns the pending change if a second administrator must confirm: for a team that approves, runs or administers,
      or a policy names.
    """
    access.require(by, Action.MANAGE)
    if administrators.is_same_human(person, by):
        raise NotAllowedError(_("you can't add your own accounts to a team"))
    if ServiceAccount.objects.filter(person=person).exists():
        raise NotAllowedError(_("service accounts can't be team members"))
    if _is_relied_on(team, administrators.SENSITIVE) and administrators.needs_second():
        summary: dict[str, JSONValue] = {"team": team.slug, "joins": person.get_username()}
        return pending_changes.ask(
            PendingKind.MEMBER, by=by, given={"team": team.pk, "person": person.pk}, summary=summary
        )
    return rights_changes.add_member(team, person, actors=Actors(by))


def end_member(member: TeamMember, *, by: Person) -> PendingChange | None:
    """Remove a person from a team; return the pending change if a second administrator must confirm."""
    access.require(by, Action.MANAGE)
    if _is_relied_on(member.team, _ADMINISTERS) and administrators.needs_second():
        summary: dict[str, JSONValue] = {"team": member.team.slug, "leaves": member.person.get_username()}
        return pending_changes.ask(
            PendingKind.END_MEMBER, by=by, given={"member": member.pk, "team": member.team_id}, summary=summary
        )
    rights_changes.end_member(member, actors=Actors(by))
    return None


def _require_grantable(role: Role, *, by: Person, person: Person | None, team: Team | None, scope: Scope) -> None:
    scope.check()
    if (person is None) == (team is None):
        raise NotValidError(_("grant a role to either a person or a team"))
    if team is not None and administrators.is_in_team(by, team):
        raise NotAllowedError(_("you can't grant a role to a team that you belong to"))
    service = ServiceAccount.objects.filter(person=person).select_related("owner").first() if person else None
    if service is not None and role not in access.OF_PROGRAMS:
        raise NotAllowedError(_("a service account can't have the role %(label)s") % {"label": role.label})
    if service is not None and administrators.is_same_human(service.owner, by):
        raise NotAllowedError(_("you can't grant a role to your own service account"))
    if person is not None and administrators.is_same_human(person, by):
        raise NotAllowedError(_("you can't grant a role to yourself"))
    if role is Role.ADMINISTRATOR and scope != Scope():
        raise NotValidError(_("the administrator role can only be granted everywhere"))


def grant_role(
    role: Role, *, by: Person, person: Person | None = None, team: Team | None = None, scope: Scope
) -> Grant | PendingChange:
    """Grant a role to a person or a team.

    - Returns the pending change for roles that approve, run, administer or bypass approval, once there have been two
      administrators. Before that, such a grant is marked.
    - Raises `NotAllowedError` for the person themselves, their own team or service account, under any account.
    - Raises `NotValidError` for an administrator of only some scopes, or an invalid pattern.
    """
    access.require(by, Action.MANAGE)
    _require_grantable(role, by=by, person=person, team=team, scope=scope)
    if role in administrators.SENSITIVE and administrators.needs_second():
        given: JSONObject = {
            "role": role.value,
            "person": person.pk if person else None,
            "team": team.pk if team else None,
            "scope": [scope.cluster_pattern, scope.namespace_pattern, scope.is_cluster_scoped],
        }
        summary = rights_changes.describe_grant(role, person, team, scope)
        return pending_changes.ask(PendingKind.GRANT, by=by, given=given, summary=summary)
    return rights_changes.add_grant(role, actors=Actors(by), person=person, team=team, scope=scope)


def end_grant(grant: Grant, *, by: Person) -> PendingChange | None:
    """End a grant; return the pending change if a second administrator must confirm."""
    access.require(by, Action.MANAGE)
    if grant.role == Role.ADMINISTRATOR and administrators.needs_second():
        summary = rights_changes.describe_grant(grant.role, grant.person, grant.team, rights_changes.scope_of(grant))
        return pending_changes.ask(PendingKind.END_GRANT, by=by, given={"grant": grant.pk}, summary=summary)
    rights_changes.end_grant(grant, actors=Actors(by))
    return None
