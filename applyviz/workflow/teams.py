"""Accounts, teams and grants: who is there, who is in which team, who was given which role where.

An administrator does it, and each step is in the history. Nothing is taken back silently: memberships and grants are
ended with a moment. Nobody grants a role to themselves, and the last administrator stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AccountLink, Grant, ServiceAccount, Team, TeamMember
from applyviz.workflow import access, audit, clock, people
from applyviz.workflow.access import Action, Person, Visitor
from applyviz.workflow.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.places import PATTERN, Place, holds_at


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a grant holds."""

    cluster_pattern: str = "*"
    namespace_pattern: str = "*"
    is_cluster_scoped: bool = True

    def check(self) -> None:
        """Raise `NotValidError` for a pattern that nothing could fit."""
        for pattern in (self.cluster_pattern, self.namespace_pattern):
            if not PATTERN.fullmatch(pattern):
                raise NotValidError(
                    _("%(pattern)r is no pattern: small letters, digits, dots, dashes, `*` and `?`")
                    % {"pattern": pattern}
                )

    def __str__(self) -> str:
        text = f"{self.cluster_pattern}/{self.namespace_pattern}"
        return f"{text} and what has no namespace" if self.is_cluster_scoped else text


def list_people(*, for_user: Visitor) -> QuerySet[Person]:
    """All accounts; for administrators and auditors."""
    access.require(for_user, Action.OVERSEE)
    return Person.objects.order_by("username")


def get_person(name: str, *, for_user: Visitor) -> Person:
    """One account by its name."""
    access.require(for_user, Action.OVERSEE)
    found = Person.objects.filter(username=name).first()
    if found is None:
        raise NotVisibleError(f"there is no account {name}")
    return found


def list_teams(*, for_user: Visitor) -> QuerySet[Team]:
    """The teams that are not retired; everybody who is in may know them, because policies name them."""
    access.require(for_user, Action.LOOK)
    return Team.objects.filter(retired_at=None).prefetch_related("members__person")


def get_team(slug: str, *, for_user: Visitor) -> Team:
    """One team by its short name."""
    found = list_teams(for_user=for_user).filter(slug=slug).first()
    if found is None:
        raise NotVisibleError(f"there is no team {slug}")
    return found


def list_grants(*, for_user: Visitor) -> QuerySet[Grant]:
    """All grants in force."""
    access.require(for_user, Action.OVERSEE)
    return Grant.objects.filter(ended_at=None).select_related("person", "team", "by")


def roles_at(person: Person, moment: datetime, at: Place | None = None) -> frozenset[Role]:
    """The roles that somebody had at a moment in the past, their teams' of then included."""
    was_member = TeamMember.objects.filter(Q(ended_at=None) | Q(ended_at__gt=moment), person=person, since__lte=moment)
    whose = Q(person=person) | Q(team__in=was_member.values("team"))
    rows = Grant.objects.filter(whose, Q(ended_at=None) | Q(ended_at__gt=moment), since__lte=moment)
    return frozenset(Role(grant.role) for grant in rows if at is None or holds_at(grant, at))


def _link_mailbox(person: Person) -> None:
    """Accounts with one mail address are one human, for the database as well."""
    mailbox = people.name_mailbox(person.email)
    same = [p for p in Person.objects.exclude(email="") if people.name_mailbox(p.email) == mailbox] if mailbox else []
    if len(same) > 1:
        count_as_one(same)


def count_as_one(accounts: Iterable[Person]) -> None:
    """Link accounts, with all that are linked to any of them, in the caller's transaction."""
    accounts = list(accounts)
    linked = set(AccountLink.objects.filter(person__in=accounts).values_list("human", flat=True))
    name = min(linked, default=f"human-{min(p.pk for p in accounts)}")
    AccountLink.objects.filter(human__in=linked).update(human=name)
    for person in accounts:
        AccountLink.objects.update_or_create(person=person, defaults={"human": name})


def add_person(*, by: Person, name: str, email: str, password: str) -> Person:
    """Make an account; it can do nothing until a role is granted."""
    access.require(by, Action.MANAGE)
    try:
        validate_password(password, Person(username=name, email=email))
    except ValidationError as error:
        raise NotValidError(" ".join(error.messages)) from error
    with transaction.atomic():
        try:
            with transaction.atomic():
                made = Person.objects.create_user(name, email, password)
        except IntegrityError as error:
            raise NotValidError(_("there is an account %(name)s already") % {"name": name}) from error
        _link_mailbox(made)
        audit.record(AuditAction.PERSON_ADDED, by=by, about=audit.Subject(), detail={"account": name, "mail": email})
    return made


def set_active(person: Person, *, by: Person, is_active: bool) -> None:
    """Let an account sign in, or not any more; its grants stay and count for nothing meanwhile."""
    access.require(by, Action.MANAGE)
    if person.pk == by.pk:
        raise NotAllowedError(_("nobody closes their own account"))
    with transaction.atomic():
        changed = Person.objects.filter(pk=person.pk, is_active=not is_active).update(is_active=is_active)
        if not changed:
            raise NotPossibleError(_("the account is so already"))
        detail = {"account": person.get_username(), "active": is_active}
        audit.record(AuditAction.PERSON_CHANGED, by=by, about=audit.Subject(), detail=detail)


def link_accounts(accounts: Iterable[Person], *, by: Person) -> None:
    """Say that accounts are one human: none of them approves what another wrote, and they count once."""
    access.require(by, Action.MANAGE)
    accounts = list(accounts)
    if len({person.pk for person in accounts}) < 2:
        raise NotValidError(_("name at least two accounts"))
    with transaction.atomic():
        count_as_one(accounts)
        detail = {"one human": sorted(person.get_username() for person in accounts)}
        audit.record(AuditAction.PERSON_CHANGED, by=by, about=audit.Subject(), detail=detail)


def create_team(*, by: Person, slug: str, name: str) -> Team:
    """Make a team without members."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        try:
            with transaction.atomic():
                team = Team.objects.create(slug=slug, name=name, created_at=clock.now())
        except IntegrityError as error:
            raise NotValidError(_("there is a team %(slug)s already") % {"slug": slug}) from error
        audit.record(AuditAction.TEAM_CHANGED, by=by, about=audit.Subject(), detail={"team": slug, "made": name})
    return team


def retire_team(team: Team, *, by: Person) -> None:
    """End a team: it grants nothing any more; policies that name it can no longer be met."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        if not Team.objects.filter(pk=team.pk, retired_at=None).update(retired_at=clock.now()):
            raise NotPossibleError(_("the team is retired already"))
        audit.record(
            AuditAction.TEAM_CHANGED, by=by, about=audit.Subject(), detail={"team": team.slug, "retired": True}
        )


def add_member(team: Team, person: Person, *, by: Person) -> TeamMember:
    """Put somebody into a team."""
    access.require(by, Action.MANAGE)
    if person.pk == by.pk:
        raise NotAllowedError(_("nobody puts themselves into a team"))
    if ServiceAccount.objects.filter(person=person).exists():
        raise NotAllowedError(_("a service account is in no team: teams agree, programs ask"))
    with transaction.atomic():
        try:
            with transaction.atomic():
                member = TeamMember.objects.create(team=team, person=person, since=clock.now())
        except IntegrityError as error:
            raise NotPossibleError(_("%(name)s is in this team already") % {"name": person.get_username()}) from error
        detail = {"team": team.slug, "joined": person.get_username()}
        audit.record(AuditAction.TEAM_CHANGED, by=by, about=audit.Subject(), detail=detail)
    return member


def end_member(member: TeamMember, *, by: Person) -> None:
    """Take somebody out of a team, from now on."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        if not TeamMember.objects.filter(pk=member.pk, ended_at=None).update(ended_at=clock.now()):
            raise NotPossibleError(_("the membership ended already"))
        _require_administrator()
        detail = {"team": member.team.slug, "left": member.person.get_username()}
        audit.record(AuditAction.TEAM_CHANGED, by=by, about=audit.Subject(), detail=detail)


def _describe(grant: Grant) -> dict[str, str]:
    whom = grant.person.get_username() if grant.person else f"team {grant.team.slug if grant.team else ''}"
    where = Scope(grant.cluster_pattern, grant.namespace_pattern, grant.is_cluster_scoped)
    return {"role": grant.role, "to": whom, "where": str(where)}


def grant_role(
    role: Role, *, by: Person, person: Person | None = None, team: Team | None = None, scope: Scope
) -> Grant:
    """Give a role to a person or to a team.

    - Raises `NotAllowedError` for oneself, `NotValidError` for an administrator of a part, or for what is no pattern.
    """
    access.require(by, Action.MANAGE)
    scope.check()
    if (person is None) == (team is None):
        raise NotValidError(_("a role goes to a person or to a team"))
    if person is not None and person.pk == by.pk:
        raise NotAllowedError(_("nobody grants a role to themselves"))
    service = ServiceAccount.objects.filter(person=person).first() if person is not None else None
    if service is not None and role not in access.OF_PROGRAMS:
        raise NotAllowedError(_("a service account is never %(label)s") % {"label": role.label})
    if service is not None and service.owner_id == by.pk:
        raise NotAllowedError(_("nobody grants a role to a service account of their own"))
    if role is Role.ADMINISTRATOR and scope != Scope():
        raise NotValidError(_("an administrator is one everywhere"))
    with transaction.atomic():
        grant = Grant.objects.create(
            role=role,
            person=person,
            team=team,
            cluster_pattern=scope.cluster_pattern,
            namespace_pattern=scope.namespace_pattern,
            is_cluster_scoped=scope.is_cluster_scoped,
            since=clock.now(),
            by=by,
        )
        audit.record(AuditAction.ROLE_GRANTED, by=by, about=audit.Subject(), detail=_describe(grant))
    return grant


def _require_administrator() -> None:
    """Raise unless somebody is left who can manage."""
    whole = Q(role=Role.ADMINISTRATOR, ended_at=None)
    by_grant = Q(grants__in=Grant.objects.filter(whole)) | Q(
        memberships__ended_at=None, memberships__team__in=Grant.objects.filter(whole).values("team")
    )
    if not Person.objects.filter(Q(is_superuser=True) | by_grant, is_active=True).exists():
        raise NotPossibleError(_("this would leave nobody who manages people and policies"))


def end_grant(grant: Grant, *, by: Person) -> None:
    """Take a role back, from now on."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        ended = Grant.objects.filter(pk=grant.pk, ended_at=None).update(ended_at=clock.now(), ended_by=by)
        if not ended:
            raise NotPossibleError(_("the grant ended already"))
        _require_administrator()
        audit.record(AuditAction.ROLE_ENDED, by=by, about=audit.Subject(), detail=_describe(grant))
