"""Links between accounts of one person: who is united by one, and how administrators stay counted.

Rule: a link merges everyone linked to its accounts, and everyone with the same mailbox. It never lowers the number of
people who have ever been administrators (`administrators`), and its end never raises it.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q
from django.utils.translation import gettext as _

from applyviz.records.models import AccountLink, ServiceAccount
from applyviz.workflow.foundation import account_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.people import administrators, humans


def list_sharing(email: str) -> list[Person]:
    """Return the accounts with the mailbox of an address."""
    mailbox = humans.name_mailbox(email)
    if not mailbox:
        return []
    return [one for one in Person.objects.exclude(email="") if humans.name_mailbox(one.email) == mailbox]


def link_mailbox(person: Person) -> None:
    """Link the accounts with the mailbox of a person in the database as well, in the caller's transaction."""
    same = list_sharing(person.email)
    if len(same) > 1:
        count_as_one(same)


def count_as_one(accounts: Iterable[Person]) -> None:
    """Link accounts, with all accounts linked to them, in the caller's transaction.

    - Administrators count as whom they counted before; the other accounts count as the first of them, so that none of
      these becomes another administrator later.
    """
    accounts = list(accounts)
    rows = AccountLink.objects.filter(person__in=accounts)
    linked = set(rows.values_list("human", flat=True))
    name = min(linked, default=f"human-{min(p.pk for p in accounts)}")
    everyone = {one.pk: one for one in (*Person.objects.filter(link__human__in=linked), *accounts)}
    counted = administrators.name_counted(everyone.values())
    shared = min(counted.values(), default=name)
    for pk, person in everyone.items():
        values = {"human": name, "counted_as": counted.get(pk, shared)}
        person.link, _made = AccountLink.objects.update_or_create(person=person, defaults=values)
        account_macs.vouch(person, account_macs.LINK)


def require_linkable(accounts: Iterable[Person]) -> None:
    """Raise `NotAllowedError` if a link of these accounts would unite two administrators.

    They could not confirm each other's changes any more: that is for the operator of the server.
    """
    chosen = {one.pk: one for one in accounts}
    for one in tuple(chosen.values()):
        chosen |= {other.pk: other for other in list_sharing(one.email)}
    names = AccountLink.objects.filter(person__in=chosen).values("human")
    chosen |= {one.pk: one for one in Person.objects.filter(link__human__in=names)}
    if len(set(administrators.name_counted(chosen.values()).values())) > 1:
        raise NotAllowedError(_("to link accounts of two administrators, run manage.py people link on the server"))


def list_linked(person: Person) -> list[Person]:
    """Return the other accounts that a link makes one person with an account."""
    link = AccountLink.objects.filter(person=person).first()
    if link is None:
        return []
    return list(Person.objects.filter(link__human=link.human).exclude(pk=person.pk).order_by("username"))


def require_separable(person: Person) -> None:
    """Raise `NotPossibleError` unless a link alone makes an account one person with others."""
    linked = list_linked(person)
    if not linked:
        raise NotPossibleError(_("this account is not linked"))
    if set(list_sharing(person.email)) & set(linked):
        raise NotPossibleError(_("accounts with the same mailbox count as one person: change the address first"))
    programs = ServiceAccount.objects.filter(Q(person=person, owner__in=linked) | Q(person__in=linked, owner=person))
    if programs.exists():
        raise NotPossibleError(_("a service account always counts as its owner"))


def separate(person: Person) -> None:
    """Let an account count for itself, in the caller's transaction; among administrators it counts as before."""
    link = AccountLink.objects.get(person=person)
    link.counted_as, link.human = link.counted_as or link.human, f"account-{person.pk}"
    link.save()
    person.link = link
    account_macs.vouch(person, account_macs.LINK)
