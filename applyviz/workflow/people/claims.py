"""One-time links by which invited people claim their account, so that its creator never knows the password.

A link works once and for three days; the database holds the keyed hash of its secret, bound to the account. For an
account that was claimed before, only a command on the server creates a link: otherwise an administrator could take
accounts over. The administrator who made a link has seen it. So an account with a role that requires two
administrators, once claimed, stays deactivated until another administrator confirms that its person claimed it.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records import keyed_hashes
from applyviz.records.enums import AuditAction
from applyviz.records.models import AccountClaim, ServiceAccount
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.people import administrators, pending_changes, sessions

LASTS = timedelta(days=3)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


def _hash(token: str, claim: AccountClaim) -> str:
    """Return the stored form of a secret; it is bound to the account and the expiry."""
    until = claim.expires_at.astimezone(UTC).isoformat(timespec="microseconds")
    return keyed_hashes.hash_token(token, purpose="links of invitations", of=[claim.person_id, until])


def _make(person: Person, *, by: Person | None, reason: str = "") -> str:
    """Store a new link; earlier unused ones expire."""
    token, now = f"{person.pk}-{secrets.token_urlsafe(32)}", clock.now()
    AccountClaim.objects.filter(person=person, used_at=None, expires_at__gt=now).update(expires_at=now)
    claim = AccountClaim(person=person, made_by=by, created_at=now, expires_at=now + LASTS)
    claim.token_hash = _hash(token, claim)
    claim.save(force_insert=True)
    detail = {"account": person.get_username(), **({"recovery": True, "reason": reason} if reason else {})}
    trail.record(AuditAction.LINK_MADE, by=by, about=trail.AuditSubject(), detail=detail)
    return token


def make_link(person: Person, *, by: Person) -> str:
    """Return the secret of a new link to an account that was never claimed.

    - Raises `NotAllowedError` for an account with a password, and for a service account.
    """
    access.require(by, Action.MANAGE)
    if person.has_usable_password():
        raise NotAllowedError(
            _("this account is already claimed. To create a new link, run manage.py people invite on the server")
        )
    if ServiceAccount.objects.filter(person=person).exists():
        raise NotAllowedError(_("a service account has no password: create a token"))
    with transaction.atomic():
        return _make(person, by=by)


def recover(person: Person, *, reason: str) -> str:
    """Return the secret of a new link to any account, for a command on the server."""
    if not reason.strip():
        raise NotValidError(_("a recovery needs a reason"))
    with transaction.atomic():
        return _make(person, by=None, reason=reason.strip())


def find_claim(token: str) -> AccountClaim:
    """Return the claim of a secret while it is valid; raises `NotVisibleError`."""
    number = token.partition("-")[0]
    of_account = (
        AccountClaim.objects.filter(person_id=int(number)) if _NUMBER.fullmatch(number) else AccountClaim.objects.none()
    )
    valid = of_account.filter(used_at=None, expires_at__gt=clock.now()).select_related("person", "made_by")
    claim = next((row for row in valid if keyed_hashes.is_same(_hash(token, row), row.token_hash)), None)
    if claim is None or not claim.person.is_active:
        raise NotVisibleError(_("this link was used or has expired; ask for a new one"))
    return claim


def _ask_second(claim: AccountClaim, address: str) -> None:
    """Let an administrator other than the one who made the link confirm the claim."""
    person, maker = claim.person, claim.made_by
    if maker is None:
        return
    summary = {"account": person.get_username(), "link made by": maker.get_username(), "claimed from": address}
    pending_changes.ask(PendingKind.CLAIM, by=maker, given={"person": person.pk}, summary=summary, actor=person)


def claim_account(token: str, *, password: str, address: str) -> Person:
    """Set the password of an account by its link, once; ends every session of the account.

    - The account is not active if a second administrator must confirm the claim first.
    - Raises `NotVisibleError` for an invalid link, `NotValidError` for a weak password.
    """
    claim = find_claim(token)
    person = claim.person
    must_wait = claim.made_by is not None and administrators.holds_sensitive(person) and administrators.needs_second()
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise NotValidError(" ".join(error.messages)) from error
    with transaction.atomic():
        now = clock.now()
        if not AccountClaim.objects.filter(pk=claim.pk, used_at=None, expires_at__gt=now).update(used_at=now):
            raise NotPossibleError(_("this link was already used"))
        person.set_password(password)
        person.is_active = not must_wait
        person.save(update_fields=["password", "is_active"])
        sessions.end_others(person, keep="")
        trail.record(AuditAction.ACCOUNT_CLAIMED, by=person, about=trail.AuditSubject(), detail={"address": address})
        if must_wait:
            _ask_second(claim, address)
    return person
