"""Who administers, who ever did, and when a change of rights needs a second administrator.

Rule: once two humans have ever been administrators, nobody alone grants what approves or runs, and nobody alone removes
an administrator. While there has only ever been one this cannot be prevented, so it is marked. An account counts from
when somebody could sign in to it: an invitation that nobody accepted makes no second administrator.
"""

from __future__ import annotations

from django.db.models import F, Q

from applyviz.records.enums import Role
from applyviz.records.models import Grant, Team, TeamMember
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.people import humans as people

SENSITIVE = frozenset({Role.APPROVER, Role.OPERATOR, Role.ADMINISTRATOR, Role.BREAK_GLASS})
"""The roles that approve, run, administer, or run without approval."""

_WHOLE = Q(role=Role.ADMINISTRATOR, cluster_pattern="*", namespace_pattern="*", is_cluster_scoped=True)


def _list_ever() -> list[Person]:
    grants = Grant.objects.filter(_WHOLE)
    overlaps = Q(ended_at=None) | Q(ended_at__gt=F("team__grants__since"))
    until = Q(team__grants__ended_at=None) | Q(team__grants__ended_at__gt=F("since"))
    members = TeamMember.objects.filter(overlaps, until, team__grants__in=grants).values("person")
    chosen = Q(is_superuser=True) | Q(grants__in=grants) | Q(pk__in=members)
    return [person for person in Person.objects.filter(chosen).distinct() if person.has_usable_password()]


def count_ever() -> int:
    """Return how many humans have ever been administrators."""
    found = _list_ever()
    return len(set(people.name_humans(found).values()))


def needs_second() -> bool:
    """Return whether a second administrator has to confirm changes of rights."""
    return count_ever() >= 2


def was_ever(person: Person) -> bool:
    """Return whether an account has ever been an administrator's."""
    return any(person.pk == one.pk for one in _list_ever())


def list_current() -> list[Person]:
    """Return the active administrators."""
    grants = Grant.objects.filter(_WHOLE, ended_at=None)
    members = Q(memberships__ended_at=None, memberships__team__archived_at=None)
    of_teams = members & Q(memberships__team__in=grants.exclude(team=None).values("team"))
    chosen = Q(is_superuser=True) | Q(grants__in=grants) | of_teams
    return list(Person.objects.filter(chosen, is_active=True).distinct().order_by("username"))


def holds_sensitive(person: Person) -> bool:
    """Return whether an account holds a role that needs two to be granted, were it active."""
    through_team = Q(team__members__person=person, team__members__ended_at=None, team__archived_at=None)
    grants = Grant.objects.filter(Q(person=person) | through_team, ended_at=None, role__in=SENSITIVE)
    return person.is_superuser or grants.exists()


def gives(team: Team, roles: frozenset[Role]) -> bool:
    """Return whether a team gives its members one of these roles."""
    return Grant.objects.filter(team=team, ended_at=None, role__in=roles).exists()


def is_same_human(one: Person, other: Person) -> bool:
    """Return whether two accounts are one human's."""
    humans = people.name_humans([one, other])
    return humans[one.pk] == humans[other.pk]


def is_in_team(person: Person, team: Team) -> bool:
    """Return whether the human behind an account is in a team, under any account."""
    members = Person.objects.filter(memberships__team=team, memberships__ended_at=None)
    return any(is_same_human(person, member) for member in members)
