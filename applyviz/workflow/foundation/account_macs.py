"""MACs of accounts: what an account signs in with, who it belongs to, and whether it is a superuser.

A change past the use cases has no effect: such a password does not sign in, such a superuser has no role, and an
account whose address or link was changed counts as the person behind every other one, because its owner is unknown. One
whose name was changed does not sign in, and is no user of a cluster by its name.
Each aspect has a separate MAC, so that a change of one does not confirm another. The key is that of `row_macs`.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterator

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models.signals import post_save
from django.dispatch import receiver

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.keyed_hashes import is_same
from applyviz.records.models import AccountLink, AccountMac
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import renewed_macs

LINK = "link"
OF_ACCOUNTS = ("username", "password", "is_active", "email", "is_superuser")
OF_SIGN_IN = ("username", "password", "is_active")
OF_HUMANS = ("email", LINK)
"""The aspects that decide which accounts belong to one person."""
_LINK_OF = WrittenQuery(lambda person: AccountLink.objects.filter(person=person))
_LINK = User._meta.get_field("link")


def _read(person: User, aspect: str) -> JSONValue:
    if aspect != LINK:
        return str(getattr(person, aspect))
    if not _LINK.is_cached(person):
        _LINK.set_cached_value(person, _LINK_OF.find(person.pk))
    link: AccountLink | None = getattr(person, "link", None)
    return None if link is None else [link.human, link.counted_as]


def _make(person: User, aspect: str, key: str) -> str:
    text = f"applyviz account {canonical_json([person.pk, aspect, _read(person, aspect)])}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()


def vouch(person: User, *aspects: str) -> None:
    """Store the MACs of some aspects of a stored account, in the caller's transaction, if there is one.

    - The row is locked: the MACs of other aspects may be renewed, or set, at the same moment.
    """
    if not settings.APPLYVIZ_APPROVAL_KEY:
        raise ImproperlyConfigured("APPLYVIZ_APPROVAL_KEY: it is not set here; web processes and workers hold it")
    made = {aspect: _make(person, aspect, settings.APPLYVIZ_APPROVAL_KEY) for aspect in aspects}
    with transaction.atomic(savepoint=False):
        row = AccountMac.objects.select_for_update().filter(person=person).first() or AccountMac(person=person)
        row.macs |= made
        row.save()
    person.account_mac = row


def find_forged(person: User, *aspects: str) -> Iterator[str]:
    """Yield the aspects that were not set by this installation; reads the MACs unless they were joined."""
    row = getattr(person, "account_mac", None)
    keys = renewed_macs.list_keys()
    for aspect in aspects:
        stored = str(row.macs.get(aspect, "")) if row is not None else ""
        if not any(is_same(_make(person, aspect, key), stored) for key in keys):
            yield aspect


def renew(person: User) -> tuple[str, ...]:
    """Store the MACs of an account under the current key, in the caller's transaction; return the changed aspects.

    - The caller holds a lock on the row of the MACs. An aspect that is not genuine keeps the MAC that it has.
    """
    row: AccountMac = person.account_mac
    present = [aspect for aspect in (*OF_ACCOUNTS, LINK) if aspect in row.macs]
    forged = set(find_forged(person, *present))
    made = {aspect: _make(person, aspect, settings.APPLYVIZ_APPROVAL_KEY) for aspect in present if aspect not in forged}
    changed = tuple(aspect for aspect, mac in made.items() if row.macs[aspect] != mac)
    if changed:
        row.macs |= made
        row.save(update_fields=["macs"])
    return changed


def is_genuine(person: User, *aspects: str) -> bool:
    """Return whether these aspects of an account were set by this installation."""
    return next(find_forged(person, *aspects), None) is None


def check_password(person: User, password: str) -> bool:
    """Return whether a password is that of an account; a password that was written past the use cases is not."""
    return is_genuine(person, "password") and person.check_password(password)


@receiver(post_save, sender=User, dispatch_uid="accounts.vouch")
def _vouch_saved(
    instance: User, *, created: bool, raw: bool, update_fields: Collection[str] | None, **_: object
) -> None:
    """Vouch for what the product itself saved of an account."""
    if raw:
        return
    saved = OF_ACCOUNTS if update_fields is None else tuple(one for one in OF_ACCOUNTS if one in update_fields)
    if created:
        saved = (*OF_ACCOUNTS, LINK)
    if saved:
        vouch(instance, *saved)
