"""Who is the same human as whom, and who is in which team.

Rule: accounts that an administrator linked, and accounts with the same mail address (case and `+alias` apart), are
one human; nobody gets anything approved by being there twice. The database knows links alone (`records/guards.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.records.models import AccountLink, TeamMember
from applyviz.workflow.foundation.access import Person


def name_mailbox(address: str) -> str:
    """A mail address without what does not change where it arrives; "" for none."""
    local, at, domain = address.strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}" if at and local else ""


def name_humans(people: Iterable[Person]) -> dict[int, str]:
    """Which human stands behind each account, by its id: equal names, one human."""
    people = list(people)
    linked = dict(AccountLink.objects.filter(person__in=people).values_list("person_id", "human"))
    named: dict[int, str] = {}
    by_mailbox: dict[str, str] = {}
    for person in sorted(people, key=lambda one: (one.pk not in linked, one.pk)):
        name = linked.get(person.pk, f"account-{person.pk}")
        mailbox = name_mailbox(person.email)
        named[person.pk] = by_mailbox.setdefault(mailbox, name) if mailbox else name
    return named


def list_teams(people: Iterable[Person]) -> dict[int, frozenset[str]]:
    """The slugs of the teams that each account is in now."""
    people = list(people)
    found: dict[int, set[str]] = {person.pk: set() for person in people}
    rows = TeamMember.objects.filter(person__in=people, ended_at=None, team__archived_at=None)
    for person_id, slug in rows.values_list("person_id", "team__slug"):
        found[person_id].add(slug)
    return {pk: frozenset(slugs) for pk, slugs in found.items()}
