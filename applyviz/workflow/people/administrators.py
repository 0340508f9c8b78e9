"""Administrators: who is one, who ever was, and when a change of rights needs a second one.

Rule: once two people have ever been administrators, no single one can grant roles that approve or run, or remove an
administrator. With only one ever, this cannot be prevented, so such grants are marked. An account counts from its first
usable sign-in: an invitation that was never accepted does not make a second administrator. Two that were counted stay
two: no link between accounts lowers the number.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F, Q, QuerySet

from applyviz.records.enums import Role
from applyviz.records.models import AccountLink, Grant, Team, TeamMember
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.people import humans as people

SENSITIVE = frozenset(Role.sensitive())

_WHOLE = Q(role=Role.ADMINISTRATOR, cluster_pattern="*", namespace_pattern="*", is_cluster_scoped=True)


def _select_ever() -> QuerySet[Person]:
    grants = Grant.objects.filter(_WHOLE)
    overlaps = Q(ended_at=None) | Q(ended_at__gt=F("team__grants__since"))
    until = Q(team__grants__ended_at=None) | Q(team__grants__ended_at__gt=F("since"))
    members = TeamMember.objects.filter(overlaps, until, team__grants__in=grants).values("person")
    chosen = Q(is_superuser=True) | Q(grants__in=grants) | Q(pk__in=members)
    return Person.objects.filter(chosen).distinct()


_EVER = WrittenQuery(_select_ever)


def _list_ever() -> list[Person]:
    return [person for person in _EVER.ask() if person.has_usable_password()]


def _name_counted(accounts: Iterable[Person]) -> dict[int, str]:
    """Return who accounts count as among all who were ever administrators, by their ids."""
    accounts = list(accounts)
    links = AccountLink.objects.filter(person__in=accounts).values_list("person_id", "counted_as", "human")
    linked = {pk: counted or human for pk, counted, human in links}
    return {one.pk: linked.get(one.pk, f"account-{one.pk}") for one in accounts}


def count_ever() -> int:
    """Return how many people have ever been administrators."""
    return len(set(_name_counted(_list_ever()).values()))


def name_counted(accounts: Iterable[Person]) -> dict[int, str]:
    """Return who those accounts count as that were ever administrators', by their ids."""
    chosen = {one.pk for one in accounts}
    return _name_counted(one for one in _list_ever() if one.pk in chosen)


def needs_second() -> bool:
    """Return whether a second administrator has to confirm changes of rights."""
    return count_ever() >= 2


def is_since(person: Person, moment: datetime) -> bool:
    """Return whether a person has been an administrator since a moment or longer."""
    grants = Grant.objects.filter(_WHOLE, ended_at=None, since__lte=moment)
    joined = TeamMember.objects.filter(person=person, ended_at=None, since__lte=moment, team__archived_at=None)
    members = row_macs.keep_genuine(joined.select_related("entry", "team"))
    having = grants.filter(Q(person=person) | Q(team__in=[member.team_id for member in members]))
    is_granted = bool(row_macs.keep_genuine(having.select_related("entry")))
    return is_granted or (person.is_superuser and person.date_joined <= moment)


def list_current() -> list[Person]:
    """Return the active administrators."""
    grants = Grant.objects.filter(_WHOLE, ended_at=None)
    members = Q(memberships__ended_at=None, memberships__team__archived_at=None)
    of_teams = members & Q(memberships__team__in=grants.exclude(team=None).values("team"))
    chosen = Q(is_superuser=True) | Q(grants__in=grants) | of_teams
    return list(Person.objects.filter(chosen, is_active=True).distinct().order_by("username"))


def holds_sensitive(person: Person) -> bool:
    """Return whether an account holds a role that requires two administrators, even while deactivated."""
    through_team = Q(team__members__person=person, team__members__ended_at=None, team__archived_at=None)
    grants = Grant.objects.filter(Q(person=person) | through_team, ended_at=None, role__in=SENSITIVE)
    return person.is_superuser or grants.exists()


def gives(team: Team, roles: frozenset[Role]) -> bool:
    """Return whether a team gives its members one of these roles."""
    return Grant.objects.filter(team=team, ended_at=None, role__in=roles).exists()


def is_same_human(one: Person, other: Person) -> bool:
    """Return whether two accounts belong to one person."""
    humans = people.name_humans([one, other])
    return humans[one.pk] == humans[other.pk]


def is_in_team(person: Person, team: Team) -> bool:
    """Return whether the person behind an account is in a team, under any linked account."""
    members = Person.objects.filter(memberships__team=team, memberships__ended_at=None)
    return any(is_same_human(person, member) for member in members)
