"""Which accounts belong to one person, and who is in which team.

Rule: accounts that an administrator linked, and accounts with one mail address (ignoring case and `+alias`), belong to
one person, who counts once for approvals. The database knows explicit links only (`records/triggers.py`). An account
whose address or link was changed past the use cases counts as the person behind every other one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from applyviz import moments
from applyviz.records.models import TeamMember
from applyviz.workflow.foundation import account_macs, row_macs
from applyviz.workflow.foundation.access import Person

OF_HUMANS = ("link", "account_mac")
"""The relations that a query joins (`select_related`), so that no account is read again."""
_LINK, _MAC = Person._meta.get_field("link"), Person._meta.get_field("account_mac")


def name_mailbox(address: str) -> str:
    """Return a mail address without parts that do not change its mailbox; "" for none."""
    local, at, domain = address.strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}" if at and local else ""


_FORGED = "forged"


def _name_link(account: Person) -> str | None:
    if not account_macs.is_genuine(account, *account_macs.OF_HUMANS):
        return _FORGED
    return getattr(getattr(account, "link", None), "human", None)


def _find_links(people: Collection[Person]) -> dict[int, str]:
    """Return the names of the linked ones among accounts; each account is read once while a page is shown.

    - A page does not read accounts again that it loaded with `OF_HUMANS`. A use case reads all of them: an account that
      it holds may have been linked since, and would then approve its own change.
    """
    known: dict[int, str | None] = moments.read_once("account links", dict)
    if moments.is_within():
        loaded = (one for one in people if _LINK.is_cached(one) and _MAC.is_cached(one))
        known.update({one.pk: _name_link(one) for one in loaded if one.pk not in known})
    missing = {person.pk for person in people} - known.keys()
    if missing:
        found = {one.pk: _name_link(one) for one in Person.objects.filter(pk__in=missing).select_related(*OF_HUMANS)}
        known.update({pk: found.get(pk) for pk in missing})
    return {person.pk: name for person in people if (name := known[person.pk]) is not None}


def name_humans(people: Iterable[Person]) -> dict[int, str]:
    """Return the person behind each account, by its id: equal names mean one person."""
    people = list(people)
    linked = _find_links(people)
    if _FORGED in linked.values():
        return {person.pk: _FORGED for person in people}
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
