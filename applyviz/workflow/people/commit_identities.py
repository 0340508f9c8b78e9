"""Commit identities: the email addresses and the accounts at git hosts by which commits and pushes name a person.

Rule: an identity counts once it is verified. A person claims one; a one-time link to the address, or an administrator
who is another person, verifies it. An administrator may link one as well, with a second administrator where there is
one: who could attribute commits to another account alone could approve them. Nothing shows whether an address belongs
to an account already, except to who can read its mail.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.queue import TaskName
from applyviz.records import keyed_hashes
from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import CommitIdentity, PendingChange, ServiceAccount
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, outbox, rate_limit, row_macs
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import (
    NotAllowedError,
    NotPossibleError,
    NotValidError,
    NotVisibleError,
    TooOftenError,
)
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import administrators, pending_changes
from applyviz.workflow.people.humans import name_mailbox
from applyviz.workflow.people.rights_changes import Actors

LASTS = timedelta(hours=24)
MOST_OPEN, MOST_CLAIMS_A_DAY = 10, 10
_DAY = timedelta(days=1)
_LOGIN = re.compile(r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?/[a-z0-9][a-z0-9._-]*\Z")


def can_mail() -> bool:
    """Return whether this installation can send the link that verifies an address."""
    return bool(settings.APPLYVIZ_MAIL and settings.APPLYVIZ_URL)


def read_value(kind: IdentityKind, text: str) -> str:
    """Return an identity in the form in which it is compared; raises `NotValidError`."""
    if kind is IdentityKind.EMAIL:
        try:
            validate_email(text.strip())
        except ValidationError:
            raise NotValidError(_("enter an email address")) from None
        return name_mailbox(text)
    value = re.sub(r"^https://", "", text.strip().casefold()).rstrip("/")
    if not _LOGIN.match(value):
        raise NotValidError(_("enter the git host and the account there, such as github.com/alice"))
    return value


def list_own(person: Person) -> QuerySet[CommitIdentity]:
    """Return the identities in force and the open claims of a person."""
    return CommitIdentity.objects.filter(person=person, ended_at=None)


def list_claims(*, for_user: Person) -> QuerySet[CommitIdentity]:
    """Return all claims that are not verified; for administrators and auditors."""
    access.require(for_user, Action.VIEW_ACCOUNTS)
    return CommitIdentity.objects.filter(verified_at=None, ended_at=None).select_related("person")


def get_own(number: int, *, by: Person) -> CommitIdentity:
    """Return one of the person's own identities; raises `NotVisibleError`."""
    return get_visible(list_own(by), "there is no such identity", pk=number)


def get_identity(number: int, *, by: Person) -> CommitIdentity:
    """Return an identity of anybody, for administrators; raises `NotVisibleError`."""
    access.require(by, Action.MANAGE)
    return get_visible(
        CommitIdentity.objects.select_related("person"), "there is no such identity", pk=number, ended_at=None
    )


def _describe(identity: CommitIdentity) -> dict[str, JSONValue]:
    return {"account": identity.person.get_username(), "kind": identity.kind, "value": identity.value}


def _record(identity: CommitIdentity, what: str, by: Person) -> None:
    detail = {"what": what, **_describe(identity)}
    trail.record(AuditAction.COMMIT_IDENTITY_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def _refuse_program(person: Person) -> None:
    if ServiceAccount.objects.filter(person=person).exists():
        raise NotAllowedError(_("a service account has no commit identity: link it to its owner"))


def _count_claim(by: Person) -> None:
    bucket = rate_limit.find_bucket(LimitKind.PUSH, f"claims of account {by.pk}")
    if rate_limit.count_one(LimitKind.PUSH, bucket, window=_DAY, now=clock.now()) > MOST_CLAIMS_A_DAY:
        raise TooOftenError(
            _("You reached the limit of %(count)d claims per day; try again tomorrow") % {"count": MOST_CLAIMS_A_DAY}
        )


def claim(kind: IdentityKind, text: str, *, by: Person) -> CommitIdentity:
    """Claim an identity for oneself; it counts once it is verified.

    - An address gets a one-time link, if the installation sends email; an administrator can verify it as well.
    - The answer is the same whether or not another account has this identity.
    """
    access.require(by, Action.USE_ACCOUNT)
    value = read_value(kind, text)
    _refuse_program(by)
    with transaction.atomic():
        _count_claim(by)
    if list_own(by).filter(kind=kind, value=value).exists():
        raise NotPossibleError(_("you claimed this already"))
    if list_own(by).filter(verified_at=None).count() >= MOST_OPEN:
        raise NotPossibleError(_("you have too many claims that are not verified; remove one first"))
    now = clock.now()
    with transaction.atomic():
        identity = CommitIdentity.objects.create(person=by, kind=kind, value=value, since=now)
        _record(identity, "claimed", by)
        if kind is IdentityKind.EMAIL and can_mail():
            _request_mail(identity)
    return identity


def _request_mail(identity: CommitIdentity) -> None:
    CommitIdentity.objects.filter(pk=identity.pk).update(mail_due_at=clock.now())
    outbox.post(TaskName.MAIL_IDENTITY, identity_id=identity.pk)


def make_token(identity_id: int) -> tuple[CommitIdentity, str] | None:
    """Return a claim whose email is due, with the secret of a new link; None if there is none. Workers call this."""
    token, now = secrets.token_urlsafe(32), clock.now()
    due = CommitIdentity.objects.filter(pk=identity_id, mail_due_at__lte=now, verified_at=None, ended_at=None)
    identity = due.select_related("person").first()
    if identity is None:
        return None
    if not due.update(mail_due_at=None, token_hash=_hash(token, identity), token_until=now + LASTS):
        return None
    identity.refresh_from_db()
    return identity, token


def retry_mail(identity_id: int, *, after: timedelta) -> None:
    """Send the email of a claim later: the mail server refused it."""
    CommitIdentity.objects.filter(pk=identity_id, verified_at=None, ended_at=None).update(
        mail_due_at=clock.now() + after, token_hash="", token_until=None
    )


def find_due_mails() -> list[int]:
    """Return the claims whose email is due."""
    due = CommitIdentity.objects.filter(mail_due_at__lte=clock.now(), verified_at=None, ended_at=None)
    return list(due.values_list("pk", flat=True)[:100])


def _hash(token: str, identity: CommitIdentity) -> str:
    """Return the stored form of the secret of a link; it is bound to the claim and its value."""
    bound: list[JSONValue] = [identity.pk, identity.person_id, identity.kind, identity.value]
    return keyed_hashes.hash_token(token, purpose="links of commit identities", of=bound)


def find_mailed(token: str, *, by: Person) -> CommitIdentity:
    """Return the claim of a mailed link; only for who claimed it, so that nobody verifies another person's claim."""
    access.require(by, Action.USE_ACCOUNT)
    rows = list_own(by).filter(token_until__gt=clock.now(), verified_at=None)
    found = next((row for row in rows if keyed_hashes.is_same(_hash(token, row), row.token_hash)), None)
    if found is None:
        raise NotVisibleError(
            _("this link was used, has expired, or belongs to another account; sign in as the person who asked for it")
        )
    return found


def verify_by_mail(token: str, *, by: Person) -> CommitIdentity:
    """Verify the address of a claim by its mailed link, once."""
    identity = find_mailed(token, by=by)
    _verify(identity, by=by, what="verified by email")
    return identity


def verify(identity: CommitIdentity, *, by: Person) -> None:
    """Verify a claim as an administrator; raises `NotAllowedError` for the person's own, under any account."""
    access.require(by, Action.MANAGE)
    if administrators.is_same_human(identity.person, by):
        raise NotAllowedError(_("another administrator must verify your own identity"))
    _verify(identity, by=by, what="verified")


def _verify(identity: CommitIdentity, *, by: Person, what: str) -> None:
    now = clock.now()
    try:
        with transaction.atomic():
            if not _store_verified(identity, now, by=by):
                raise NotPossibleError(_("this claim was already verified or removed"))
            _record(identity, what, by)
    except IntegrityError:
        raise NotPossibleError(_("this identity belongs to another account: an administrator decides")) from None


def _store_verified(identity: CommitIdentity, at: datetime, *, by: Person | None) -> bool:
    """Verify a claim with its MAC; return False if it was verified or removed meanwhile."""
    made = CommitIdentity(
        person_id=identity.person_id, kind=identity.kind, value=identity.value, verified_at=at, verified_by=by
    )
    row_macs.vouch(made)
    return bool(
        CommitIdentity.objects.filter(pk=identity.pk, verified_at=None, ended_at=None).update(
            verified_at=at, verified_by=by, mac=made.mac, token_hash="", token_until=None, mail_due_at=None
        )
    )


def link(person: Person, kind: IdentityKind, text: str, *, by: Person) -> PendingChange | None:
    """Link an identity to an account as an administrator, verified at once.

    - Returns the pending change where a second administrator must confirm it.
    - Raises `NotAllowedError` for the administrator's own account, `NotPossibleError` if another account has it.
    """
    access.require(by, Action.MANAGE)
    value = read_value(kind, text)
    _refuse_program(person)
    if administrators.is_same_human(person, by):
        raise NotAllowedError(_("claim your own identity in your account: another administrator verifies it"))
    if administrators.needs_second():
        given: dict[str, JSONValue] = {"person": person.pk, "kind": kind.value, "value": value}
        summary: dict[str, JSONValue] = {"account": person.get_username(), "identity": value}
        return pending_changes.ask(PendingKind.IDENTITY, by=by, given=given, summary=summary)
    store_link(person, kind, value, actors=Actors(by))
    return None


def store_link(person: Person, kind: IdentityKind, value: str, *, actors: Actors) -> None:
    """Store a verified identity; raises `NotPossibleError` if another account has it."""
    now = clock.now()
    try:
        with transaction.atomic():
            identity, _made = CommitIdentity.objects.get_or_create(
                person=person, kind=kind, value=value, ended_at=None, defaults={"since": now}
            )
            _store_verified(identity, now, by=actors.by)
            detail: dict[str, JSONValue] = {"what": "linked", **_describe(identity)}
            actors.record(AuditAction.COMMIT_IDENTITY_CHANGED, detail)
    except IntegrityError:
        raise NotPossibleError(_("this identity belongs to another account; remove it there first")) from None


def end(identity: CommitIdentity, *, by: Person) -> None:
    """Remove one's own identity, or any identity as an administrator; its earlier commits stay the person's."""
    if identity.person_id != by.pk:
        access.require(by, Action.MANAGE)
    with transaction.atomic():
        rows = CommitIdentity.objects.filter(pk=identity.pk, ended_at=None)
        if not rows.update(ended_at=clock.now(), ended_by=by, token_hash="", token_until=None, mail_due_at=None):
            raise NotPossibleError(_("this identity was already removed"))
        _record(identity, "removed", by)
