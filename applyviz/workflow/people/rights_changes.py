"""Changes of rights that are allowed: rows, marks and audit entries in one transaction.

`teams` and `confirmations` check the right and the need for a second administrator. The last administrator always
stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Grant, Team, TeamMember
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import account_macs, row_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import account_links, administrators


class Actors(Struct, frozen=True):
    """The requester (None: a command on the server), the confirming person, and the reason of a command."""

    by: Person | None
    confirmed_by: Person | None = None
    reason: str = ""

    @property
    def is_sole(self) -> bool:
        """Return whether one administrator acts alone, because there has only ever been one."""
        return self.by is not None and self.confirmed_by is None and not administrators.needs_second()

    def record(self, action: AuditAction, detail: dict[str, JSONValue], *, is_sole: bool = False) -> AuditEntry:
        """Record an audit entry with everyone who took part."""
        recorded = dict(detail)
        if self.confirmed_by is not None and self.by is not None:
            recorded |= {"asked by": self.by.get_username(), "confirmed by": self.confirmed_by.get_username()}
        if self.reason:
            recorded |= {"recovery": True, "reason": self.reason}
        if is_sole:
            recorded |= {"sole administrator": True}
        return trail.record(action, by=self.confirmed_by or self.by, about=trail.AuditSubject(), detail=recorded)


def describe_grant(role: str, person: Person | None, team: Team | None, scope: Scope) -> dict[str, JSONValue]:
    """Return a grant for audit entries and pages; for a team, with its members."""
    whom = person.get_username() if person else f"team {team.slug if team else ''}"
    summary: dict[str, JSONValue] = {"role": role, "to": whom, "where": str(scope)}
    if team is not None:
        members = team.members.filter(ended_at=None).values_list("person__username", flat=True)
        summary["members"] = sorted(members)
    return summary


def scope_of(grant: Grant) -> Scope:
    """Return the scope of a grant."""
    return Scope(grant.cluster_pattern, grant.namespace_pattern, grant.is_cluster_scoped)


def _keep_administrator() -> None:
    """Raise unless an administrator remains."""
    if not administrators.list_current():
        raise NotPossibleError(_("at least one administrator must remain"))


def add_grant(role: Role, *, actors: Actors, person: Person | None, team: Team | None, scope: Scope) -> Grant:
    """Grant a role to a person or a team."""
    with transaction.atomic():
        is_sole = role in administrators.SENSITIVE and actors.is_sole
        grant = Grant(
            role=role,
            person=person,
            team=team,
            cluster_pattern=scope.cluster_pattern,
            namespace_pattern=scope.namespace_pattern,
            is_cluster_scoped=scope.is_cluster_scoped,
            since=clock.now(),
            by=actors.by,
            confirmed_by=actors.confirmed_by,
            is_sole=is_sole,
        )
        summary = describe_grant(role, person, team, scope)
        row_macs.vouch(grant, actors.record(AuditAction.ROLE_GRANTED, summary, is_sole=is_sole))
        grant.save(force_insert=True)
    return grant


def end_grant(grant: Grant, *, actors: Actors) -> None:
    """End a grant from now on; raises `NotPossibleError` for the last administrator's."""
    with transaction.atomic():
        if not Grant.objects.filter(pk=grant.pk, ended_at=None).update(ended_at=clock.now(), ended_by=actors.by):
            raise NotPossibleError(_("the grant is already removed"))
        _keep_administrator()
        summary = describe_grant(grant.role, grant.person, grant.team, scope_of(grant))
        actors.record(AuditAction.ROLE_ENDED, {**summary, "grant": grant.pk})


def add_member(team: Team, person: Person, *, actors: Actors) -> TeamMember:
    """Add a person to a team."""
    with transaction.atomic():
        is_sole = administrators.gives(team, administrators.SENSITIVE) and actors.is_sole
        try:
            with transaction.atomic():
                member = TeamMember(
                    team=team,
                    person=person,
                    since=clock.now(),
                    by=actors.by,
                    confirmed_by=actors.confirmed_by,
                    is_sole=is_sole,
                )
                detail: dict[str, JSONValue] = {"team": team.slug, "joined": person.get_username()}
                row_macs.vouch(member, actors.record(AuditAction.TEAM_CHANGED, detail, is_sole=is_sole))
                member.save(force_insert=True)
        except IntegrityError as error:
            raise NotPossibleError(_("this person is already a member of this team")) from error
    return member


def end_member(member: TeamMember, *, actors: Actors) -> None:
    """Remove a person from a team from now on."""
    with transaction.atomic():
        if not TeamMember.objects.filter(pk=member.pk, ended_at=None).update(ended_at=clock.now()):
            raise NotPossibleError(_("the member is already removed"))
        _keep_administrator()
        left = member.person.get_username()
        actors.record(AuditAction.TEAM_CHANGED, {"team": member.team.slug, "left": left, "member": member.pk})


def archive_team(team: Team, *, actors: Actors) -> None:
    """Archive a team: its grants no longer count."""
    with transaction.atomic():
        if not Team.objects.filter(pk=team.pk, archived_at=None).update(archived_at=clock.now()):
            raise NotPossibleError(_("the team is already archived"))
        _keep_administrator()
        actors.record(AuditAction.TEAM_CHANGED, {"team": team.slug, "retired": True})


def set_active(person: Person, *, is_active: bool, actors: Actors) -> None:
    """Activate or deactivate an account; its grants stay but do not count while it is deactivated."""
    with transaction.atomic():
        changed = Person.objects.filter(pk=person.pk, is_active=not is_active).update(is_active=is_active)
        if not changed:
            raise NotPossibleError(_("the account is already in that state"))
        person.is_active = is_active
        account_macs.vouch(person, "is_active")
        _keep_administrator()
        actors.record(AuditAction.PERSON_CHANGED, {"account": person.get_username(), "active": is_active})


def link_accounts(accounts: Iterable[Person], *, actors: Actors) -> None:
    """Link accounts of one person."""
    accounts = list(accounts)
    with transaction.atomic():
        account_links.count_as_one(accounts)
        detail: dict[str, JSONValue] = {"one human": sorted(person.get_username() for person in accounts)}
        actors.record(AuditAction.PERSON_CHANGED, detail, is_sole=actors.is_sole)


def unlink_account(person: Person, *, actors: Actors) -> None:
    """Unlink an account: it counts as another person from then on."""
    with transaction.atomic():
        account_links.require_separable(person)
        apart = [one.get_username() for one in account_links.list_linked(person)]
        account_links.separate(person)
        detail: dict[str, JSONValue] = {"account": person.get_username(), "unlinked from": list(apart)}
        actors.record(AuditAction.PERSON_CHANGED, detail, is_sole=actors.is_sole)


def set_mail(person: Person, email: str, *, actors: Actors) -> None:
    """Change the email address of an account; accounts of its old and of its new mailbox are linked from then on."""
    with transaction.atomic():
        before = Person.objects.select_for_update(no_key=True).get(pk=person.pk)
        account_links.link_mailbox(before)
        Person.objects.filter(pk=person.pk).update(email=email)
        person.email = email
        account_macs.vouch(person, "email")
        account_links.link_mailbox(person)
        detail: dict[str, JSONValue] = {"account": person.get_username(), "mail": email, "before": before.email}
        actors.record(AuditAction.PERSON_CHANGED, detail, is_sole=actors.is_sole)
