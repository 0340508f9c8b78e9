"""Signing in, and proving again that it is you: counted in the database, in the history, and slowed down.

Rule: failures are counted per name with address, per address and per name, each in one of a fixed number of buckets:
nobody can fill a table, throw old counts out, or start anew by a restart. Names that fail are kept in the history
only when there is such an account, because people type passwords into the wrong field.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction

from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.models import SignInLimit
from applyviz.workflow import audit, clock
from applyviz.workflow.access import Person
from applyviz.workflow.buckets import count_one, find_bucket, find_until

WINDOW = timedelta(minutes=15)
MOST = {LimitKind.PAIR: 5, LimitKind.ADDRESS: 50, LimitKind.NAME: 25}
PROOF_LASTS = timedelta(minutes=5)


def _find_buckets(name: str, address: str) -> Iterator[tuple[LimitKind, int]]:
    name = name.strip().casefold()
    texts = {LimitKind.PAIR: f"{name}\n{address}", LimitKind.ADDRESS: address, LimitKind.NAME: name}
    for kind, text in texts.items():
        yield kind, find_bucket(kind, text)


def find_refusal(name: str, address: str) -> datetime | None:
    """Until when nobody may try this name from this address; None when they may."""
    now = clock.now()
    until = (
        find_until(kind, bucket, most=MOST[kind], window=WINDOW, now=now)
        for kind, bucket in _find_buckets(name, address)
    )
    return max(filter(None, until), default=None)


def count_probe(address: str) -> bool:
    """A program tried something that opens nothing; False when its address did so too often.

    - Counted apart from sign-ins, and without a line in the history for each.
    """
    bucket = find_bucket(LimitKind.ADDRESS, f"program at {address}")
    with transaction.atomic():
        return count_one(LimitKind.ADDRESS, bucket, window=WINDOW, now=clock.now()) <= MOST[LimitKind.ADDRESS]


def record_failure(name: str, address: str) -> None:
    """Somebody gave a wrong password: count it and write it down; from the limit on only that it was reached."""
    person = Person.objects.filter(username=name).first()
    shown = {"name": name if person else "unknown account", "address": address}
    with transaction.atomic():
        now = clock.now()
        counts = {k: count_one(k, bucket, window=WINDOW, now=now) for k, bucket in _find_buckets(name, address)}
        reached = [kind for kind, count in counts.items() if count == MOST[kind]]
        audit.record(AuditAction.SIGN_IN_FAILED, by=person, about=audit.Subject(), detail=shown)
        if reached:
            detail = {**shown, "limit": [kind.value for kind in reached]}
            audit.record(AuditAction.SIGN_IN_REFUSED, by=person, about=audit.Subject(), detail=detail)


def record_success(person: Person, address: str) -> None:
    """Somebody signed in: their failures from this address are forgotten, those of others are not."""
    with transaction.atomic():
        for kind, bucket in _find_buckets(person.get_username(), address):
            if kind is LimitKind.PAIR:
                SignInLimit.objects.filter(kind=kind, bucket=bucket).update(failures=0)
        audit.record(AuditAction.SIGNED_IN, by=person, about=audit.Subject(), detail={"address": address})


def prove(person: Person, password: str, address: str) -> bool:
    """Whether this is the password of who is signed in; counted and recorded as a sign-in is."""
    name = person.get_username()
    if find_refusal(name, address) is not None:
        return False
    if not person.check_password(password):
        record_failure(name, address)
        return False
    audit.record(AuditAction.PROVED, by=person, about=audit.Subject(), detail={"address": address})
    return True


def is_fresh(proved_at: float | None) -> bool:
    """Whether a proof, given as seconds since the epoch, is not older than five minutes."""
    return proved_at is not None and 0 <= clock.now().timestamp() - proved_at <= PROOF_LASTS.total_seconds()
