"""Which accounts belong to one person, and who is in which team.

Rule: accounts that an administrator linked, and accounts with one mail address (ignoring case and `+alias`), belong to
one person, who counts once for approvals. The database knows explicit links only (`records/triggers.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from applyviz import moments
from applyviz.records.models import AccountLink, TeamMember
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.access import Person

_LINK = Person._meta.get_field("link")


def name_mailbox(address: str) -> str:
    """Return a mail address without parts that do not change its mailbox; "" for none."""
    local, at, domain = address.strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}" if at and local else ""


def _find_links(people: Collection[Person]) -> dict[int, str]:
    """Return the names of the linked ones among accounts; each account is read once while a page is shown.

    - A page does not read accounts again that it loaded with their link (`select_related("link")`). A use case reads
      all of them: an account that it holds may have been linked since, and would then approve its own change.
    """
    known: dict[int, str | None] = moments.read_once("account links", dict)
    if moments.is_within():
        loaded = (one for one in people if _LINK.is_cached(one))
        known.update({one.pk: getattr(_LINK.get_cached_value(one), "human", None) for one in loaded})
    missing = {person.pk for person in people} - known.keys()
    if missing:
        found = dict(AccountLink.objects.filter(person__in=missing).values_list("person_id", "human"))
        known.update({pk: found.get(pk) for pk in missing})
    return {person.pk: name for person in people if (name := known[person.pk]) is not None}


def name_humans(people: Iterable[Person]) -> dict[int, str]:
    """Return the person behind each account, by its id: equal names mean one person."""
    people = list(people)
    linked = _find_links(people)
    named: dict[int, str] = {}
    by_mailbox: dict[str, str] = {}
    for person in sorted(people, key=lambda one: (one.pk not in linked, one.pk)):
        name = linked.get(person.pk, f"account-{person.pk}")
        mailbox = name_mailbox(person.email)
        named[person.pk] = by_mailbox.setdefault(mailbox, name) if mailbox else name
    return named


def list_teams(people: Iterable[Person]) -> dict[int, frozenset[str]]:
    """Return the slugs of the current teams of each account; a forged membership is none."""
    people = list(people)
    found: dict[int, set[str]] = {person.pk: set() for person in people}
    rows = TeamMember.objects.filter(person__in=people, ended_at=None, team__archived_at=None)
    for member in row_macs.keep_genuine(rows.select_related("team", "entry")):
        found[member.person_id].add(member.team.slug)
    return {pk: frozenset(slugs) for pk, slugs in found.items()}
