"""Read models of accounts, teams and grants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import AccountLink, Grant, PendingChange, Team
from applyviz.web.components.phrases import describe_scope
from applyviz.workflow.foundation.access import Person, Visitor
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import confirmations, teams
from applyviz.workflow.people import humans as people


class GrantRow(Struct, frozen=True):
    """One grant in force."""

    pk: int
    role: str
    where: str
    since: datetime
    by: str
    through: str = ""
    confirmed_by: str = ""
    is_sole: bool = False


class PersonRow(Struct, frozen=True):
    """One account with its roles."""

    name: str
    url: str
    email: str
    is_active: bool
    is_superuser: bool
    grants: tuple[GrantRow, ...]
    teams: tuple[str, ...]
    same_as: tuple[str, ...]


class TeamRow(Struct, frozen=True):
    """One team with its members."""

    slug: str
    name: str
    url: str
    members: tuple[tuple[int, str], ...]
    grants: tuple[GrantRow, ...]


def present_grant(grant: Grant, *, through: str = "") -> GrantRow:
    """One row."""
    return GrantRow(
        pk=grant.pk,
        role=str(grant.get_role_display()),
        where=describe_scope(Scope(grant.cluster_pattern, grant.namespace_pattern, grant.is_cluster_scoped)),
        since=grant.since,
        by=grant.by.get_username() if grant.by else "",
        through=through,
        confirmed_by=grant.confirmed_by.get_username() if grant.confirmed_by else "",
        is_sole=grant.is_sole,
    )


def _find_same(accounts: Iterable[Person]) -> dict[int, tuple[str, ...]]:
    everybody = list(Person.objects.filter(pk__in=AccountLink.objects.values("person")))
    chosen = {person.pk: person for person in (*everybody, *accounts)}
    humans = people.name_humans(chosen.values())
    by_human: dict[str, list[Person]] = defaultdict(list)
    for pk, person in chosen.items():
        by_human[humans[pk]].append(person)
    return {
        pk: tuple(sorted(other.get_username() for other in by_human[humans[pk]] if other.pk != pk)) for pk in chosen
    }


def present_people(accounts: Iterable[Person], *, for_user: Visitor) -> tuple[PersonRow, ...]:
    """Return the rows of some accounts."""
    accounts = list(accounts)
    own: dict[int, list[GrantRow]] = defaultdict(list)
    of_team: dict[str, list[GrantRow]] = defaultdict(list)
    for grant in teams.list_grants(for_user=for_user):
        if grant.person_id is not None:
            own[grant.person_id].append(present_grant(grant))
        elif grant.team is not None:
            of_team[grant.team.slug].append(present_grant(grant, through=grant.team.slug))
    member_of, same = people.list_teams(accounts), _find_same(accounts)
    return tuple(
        PersonRow(
            name=person.get_username(),
            url=reverse("settings:show-person", args=[person.get_username()]),
            email=person.email,
            is_active=person.is_active,
            is_superuser=person.is_superuser,
            grants=(*own[person.pk], *(g for slug in sorted(member_of[person.pk]) for g in of_team[slug])),
            teams=tuple(sorted(member_of[person.pk])),
            same_as=same[person.pk],
        )
        for person in accounts
    )


def present_teams(found: Iterable[Team], *, for_user: Visitor, has_grants: bool) -> tuple[TeamRow, ...]:
    """Return the rows of some teams; only administrators and auditors see grants."""
    grants: dict[int, list[GrantRow]] = defaultdict(list)
    for grant in teams.list_grants(for_user=for_user).exclude(team=None) if has_grants else ():
        if grant.team_id is not None:
            grants[grant.team_id].append(present_grant(grant))
    return tuple(
        TeamRow(
            slug=team.slug,
            name=team.name,
            url=reverse("settings:show-team", args=[team.slug]),
            members=tuple((m.pk, m.person.get_username()) for m in team.members.all() if m.ended_at is None),
            grants=tuple(grants[team.pk]),
        )
        for team in found
    )


class PendingRow(Struct, frozen=True):
    """One change that waits for a second administrator; `blocker` says why this person cannot confirm it."""

    number: int
    what: str
    summary: str
    by: str
    at: datetime
    expires_at: datetime
    blocker: str


def present_pending(found: Iterable[PendingChange], *, for_user: Person) -> tuple[PendingRow, ...]:
    """Return the rows of changes that wait for a second administrator."""
    return tuple(
        PendingRow(
            number=change.pk,
            what=str(change.get_kind_display()),
            summary=", ".join(f"{name}: {_format_value(value)}" for name, value in change.summary.items()),
            by=change.asked_by.get_username(),
            at=change.asked_at,
            expires_at=change.expires_at,
            blocker=confirmations.find_blocker(change, by=for_user),
        )
        for change in found
    )


def _format_value(value: JSONValue) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
