"""Sign-in and reauthentication: delayed after failures, never locked out, and audited.

Rule: after a failure, the next attempt of this name from this address must wait one second, then two, four and so on up
to thirty; an earlier attempt is refused unchecked. Failures from other addresses do not delay a name, so an attacker
cannot lock anyone out. Many failures from one address slow its attempts on names that never signed in from there.
Counts use a fixed number of database buckets: a flood fills no table, and a restart resets nothing. An attempt is
counted before its password is checked, so that parallel attempts cannot all pass. The audit trail holds failed names
only of existing accounts, because people type passwords into the wrong field.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.models import OpenSession, SignInLimit
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import account_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotValidError, TooOftenError
from applyviz.workflow.foundation.rate_limit import count_one, find_bucket
from applyviz.workflow.people import sessions

WINDOW = timedelta(minutes=15)
LONGEST = timedelta(seconds=30)
MOST_OF_ADDRESS = 50
PROOFS_OF_SESSION = 10
PROOF_LASTS = timedelta(minutes=5)
_PACE = timedelta(seconds=1)


class Proof(StrEnum):
    """The result of a reauthentication."""

    RIGHT = "right"
    WRONG = "wrong"
    SESSION_ENDS = "session-ends"


def find_delay(failures: int) -> timedelta:
    """Return the delay after so many failures: 1 s, doubling to 30 s."""
    return min(timedelta(seconds=1 << min(failures - 1, 5)), LONGEST) if failures > 0 else timedelta()


def _pair(name: str, address: str) -> int:
    return find_bucket(LimitKind.PAIR, f"{name.strip().casefold()}\n{address}")


def _take(kind: LimitKind, bucket: int, *, window: timedelta = WINDOW, is_even: bool = False) -> datetime | None:
    """Count an attempt; if it must wait, count nothing and return until when."""
    now = clock.now()
    with transaction.atomic():
        SignInLimit.objects.bulk_create([SignInLimit(kind=kind, bucket=bucket, since=now)], ignore_conflicts=True)
        row = SignInLimit.objects.select_for_update().get(kind=kind, bucket=bucket)
        failures = 0 if row.since <= now - window else row.failures
        until = row.since + (_PACE if is_even and failures else find_delay(failures))
        if failures and until > now:
            return until
        SignInLimit.objects.filter(pk=row.pk).update(failures=failures + 1, since=now)
    return None


def _find_pace(name: str, address: str) -> datetime | None:
    """Return until when an address with many failures must wait with a name that never signed in from there."""
    row = SignInLimit.objects.filter(kind=LimitKind.ADDRESS, bucket=find_bucket(LimitKind.ADDRESS, address)).first()
    if row is None or row.failures < MOST_OF_ADDRESS or row.since <= clock.now() - WINDOW:
        return None
    if OpenSession.objects.filter(person__username=name.strip(), address=address).exists():
        return None
    return _take(LimitKind.ADDRESS, find_bucket(LimitKind.ADDRESS, f"pace of {address}"), is_even=True)


def begin_attempt(name: str, address: str) -> datetime | None:
    """Count an attempt to sign in before its password is checked.

    - Returns until when this name must wait at this address, or None. When it must wait, nothing was counted, and the
      password must not be checked. `record_success` takes the count back.
    """
    return _find_pace(name, address) or _take(LimitKind.PAIR, _pair(name, address))


def count_probe(address: str) -> bool:
    """Count an invalid token of a program; return False when its address sent too many.

    - Counted apart from sign-ins, without an audit entry for each.
    """
    bucket = find_bucket(LimitKind.ADDRESS, f"program at {address}")
    with transaction.atomic():
        return count_one(LimitKind.ADDRESS, bucket, window=WINDOW, now=clock.now()) <= MOST_OF_ADDRESS


def record_failure(name: str, address: str) -> None:
    """Record a wrong password, and once more when the longest delay is reached."""
    person = Person.objects.filter(username=name).first()
    shown = {"name": name if person else "unknown account", "address": address}
    with transaction.atomic():
        bucket = find_bucket(LimitKind.ADDRESS, address)
        count_one(LimitKind.ADDRESS, bucket, window=WINDOW, now=clock.now())
        trail.record(AuditAction.SIGN_IN_FAILED, by=person, about=trail.AuditSubject(), detail=shown)
        row = SignInLimit.objects.filter(kind=LimitKind.PAIR, bucket=_pair(name, address)).first()
        if row is not None and row.failures == 6:
            detail = {**shown, "delay in seconds": int(LONGEST.total_seconds())}
            trail.record(AuditAction.SIGN_IN_REFUSED, by=person, about=trail.AuditSubject(), detail=detail)


def record_success(person: Person, address: str) -> None:
    """Record a sign-in; forget this person's failures from this address, but not those of others."""
    with transaction.atomic():
        bucket = _pair(person.get_username(), address)
        SignInLimit.objects.filter(kind=LimitKind.PAIR, bucket=bucket).update(failures=0)
        trail.record(AuditAction.SIGNED_IN, by=person, about=trail.AuditSubject(), detail={"address": address})


def reauthenticate(person: Person, password: str, address: str, *, session: str) -> Proof:
    """Check the password of the signed-in person; counted per session, and never against the account.

    - After `PROOFS_OF_SESSION` wrong ones this session must end, and no other.
    - Raises `TooOftenError` with the seconds to wait after a wrong one.
    """
    bucket, lasting = find_bucket(LimitKind.SESSION, session), timedelta(days=1)
    until = _take(LimitKind.SESSION, bucket, window=lasting)
    if until is not None:
        raise _too_early(until)
    mine = SignInLimit.objects.filter(kind=LimitKind.SESSION, bucket=bucket)
    detail: dict[str, str | int] = {"address": address}
    if account_macs.check_password(person, password):
        with transaction.atomic():
            mine.update(failures=0)
            trail.record(AuditAction.REAUTHENTICATED, by=person, about=trail.AuditSubject(), detail=detail)
        return Proof.RIGHT
    with transaction.atomic():
        trail.record(AuditAction.REAUTHENTICATION_FAILED, by=person, about=trail.AuditSubject(), detail=detail)
        if mine.values_list("failures", flat=True).get() < PROOFS_OF_SESSION:
            return Proof.WRONG
        detail |= {"wrong passwords": PROOFS_OF_SESSION}
        trail.record(AuditAction.SESSION_ENDED, by=person, about=trail.AuditSubject(), detail=detail)
        sessions.end(session)
    return Proof.SESSION_ENDS


def _too_early(until: datetime) -> TooOftenError:
    seconds = count_seconds(until)
    return TooOftenError(_("Too many wrong passwords. Wait %(count)d s, then try again.") % {"count": seconds}, seconds)


def count_seconds(until: datetime) -> int:
    """Return the whole seconds until a moment, at least one."""
    return max(1, int((until - clock.now()).total_seconds() + 0.999))


def change_password(person: Person, *, new: str, address: str, keep_session: str) -> int:
    """Set a new password; ends every other session of the account. Return how many.

    - The caller has reauthenticated the person. API tokens stay. Raises `NotValidError` for a weak password.
    """
    try:
        validate_password(new, person)
    except ValidationError as error:
        raise NotValidError(" ".join(error.messages)) from error
    with transaction.atomic():
        person.set_password(new)
        person.save(update_fields=["password"])
        ended = sessions.end_others(person, keep=keep_session)
        detail = {"address": address, "sessions ended": ended}
        trail.record(AuditAction.PASSWORD_CHANGED, by=person, about=trail.AuditSubject(), detail=detail)
    return ended


def is_fresh(proved_at: float | None) -> bool:
    """Return whether a proof, given as seconds since the epoch, is at most five minutes old."""
    return proved_at is not None and 0 <= clock.now().timestamp() - proved_at <= PROOF_LASTS.total_seconds()
