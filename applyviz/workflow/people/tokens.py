"""API tokens that act as an account within a scope, and service accounts for pipelines.

A token is shown once; its hash is stored. It may do what its account may, narrowed to the scope; no scope includes
approving, and a service account never approves. A service account counts as one person with its creator, so that people
cannot approve what their own program requested (the database enforces the same, `records/triggers.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.records import keyed_hashes
from applyviz.records.enums import AuditAction, TokenScope
from applyviz.records.models import ApiToken, ServiceAccount
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import (
    FieldRefusedError,
    NotAllowedError,
    NotPossibleError,
    NotValidError,
)
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import account_links, sign_in

BEGIN = "avz_"
LASTS = (7, 30, 90, 365)
PER_MINUTE = 120
MOST_TOKENS = 50
_PROGRAM = WrittenQuery(lambda person: ServiceAccount.objects.filter(person=person).select_related("owner"))
_SIMILAR = WrittenQuery(lambda hint: ApiToken.objects.select_related("person").filter(revoked_at=None, hint=hint))
_ACTIONS = {
    TokenScope.READ: frozenset({Action.VIEW}),
    TokenScope.PLAN: frozenset({Action.VIEW, Action.WRITE}),
    TokenScope.APPLY: frozenset({Action.VIEW, Action.WRITE, Action.APPLY}),
}


class NotKnownError(NotAllowedError):
    """The request has no valid token."""

    status = 401


class TooManyError(NotPossibleError):
    """Too many requests; `seconds` to wait before the next one."""

    status = 429

    def __init__(self, text: str, seconds: int) -> None:
        super().__init__(text)
        self.seconds = seconds


class Caller(Struct, frozen=True):
    """A calling program: its token and the account that it acts as."""

    token: ApiToken
    person: Person

    def require(self, action: Action) -> None:
        """Pass, or raise `NotAllowedError`: the scope is checked before the roles of the account."""
        self.require_scope(action)
        access.require(self.person, action)

    def require_scope(self, action: Action) -> None:
        """Raise `NotAllowedError` if the scope does not include an act, for acts that need no certain role."""
        if action not in _ACTIONS[TokenScope(self.token.scope)]:
            raise NotAllowedError(
                _("the scope of this token (%(scope)s) does not allow it to %(value)s")
                % {"scope": self.token.scope, "value": action.value}
            )


def _hint(text: str) -> str:
    return text[: len(BEGIN) + 6]


def _hash(text: str, token: ApiToken) -> str:
    """Return the stored form of a token; it is bound to the account, the scope and the expiry."""
    until = token.expires_at.astimezone(UTC).isoformat(timespec="microseconds")
    bound: list[JSONValue] = [token.person_id, token.made_by_id, token.scope, until]
    return keyed_hashes.hash_token(text, purpose="API tokens", of=bound)


def _describe(token: ApiToken) -> dict[str, str]:
    facts = {"token": f"{token.hint}…", "name": token.name, "scope": token.scope}
    return {**facts, "acts as": token.person.get_username(), "until": token.expires_at.isoformat()}


def _is_owner(person: Person, account: Person) -> bool:
    if person.pk == account.pk:
        return True
    rows = ServiceAccount.objects.filter(person=account, owner=person)
    return bool(row_macs.keep_genuine(rows))


def make_token(*, by: Person, account: Person, name: str, scope: TokenScope, days: int) -> tuple[ApiToken, str]:
    """Create a token for the person or one of their service accounts; return its text, which is never shown again.

    - Raises `NotAllowedError` for another's account, `NotValidError` for an invalid name or expiry.
    """
    access.require(by, Action.MANAGE_TOKENS)
    if not _is_owner(by, account):
        raise NotAllowedError(_("you can create tokens only for yourself or for your own service accounts"))
    if not name.strip() or days not in LASTS:
        raise NotValidError(_("a token needs a name and an expiry"))
    text = BEGIN + secrets.token_urlsafe(32)
    now = clock.host_now()
    with transaction.atomic():
        if ApiToken.objects.filter(person=account, revoked_at=None, expires_at__gt=now).count() >= MOST_TOKENS:
            raise NotPossibleError(
                _("this account already has %(most)s tokens; revoke one first") % {"most": MOST_TOKENS}
            )
        token = ApiToken(
            person=account,
            made_by=by,
            name=name.strip(),
            scope=scope,
            hint=_hint(text),
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        token.token_hash = _hash(text, token)
        token.save(force_insert=True)
        trail.record(AuditAction.TOKEN_MADE, by=by, about=trail.AuditSubject(), detail=_describe(token))
    return token, text


def revoke_token(token: ApiToken, *, by: Person) -> None:
    """Revoke a token at once; by its account, the owner of that account, or an administrator."""
    access.require(by, Action.MANAGE_TOKENS)
    if not _is_owner(by, token.person) and not access.can(by, Action.MANAGE):
        raise NotAllowedError(_("only the owner or an administrator can revoke a token"))
    with transaction.atomic():
        ended = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.host_now(), revoked_by=by)
        if not ended:
            raise NotPossibleError(_("the token is already revoked"))
        trail.record(AuditAction.TOKEN_REVOKED, by=by, about=trail.AuditSubject(), detail=_describe(token))


def list_tokens(*, for_user: Visitor, text: str = "") -> QuerySet[ApiToken]:
    """Return the person's own tokens and those of their service accounts, newest first; all tokens for managers.

    - `text`: a part of the name of the token, of its account or of the owner of that; "" for all.
    """
    person = access.require(for_user, Action.VIEW)
    rows = ApiToken.objects.select_related("person__service__owner", "made_by", "revoked_by").order_by("-id")
    if text:
        account = Q(person__username__icontains=text) | Q(person__service__owner__username__icontains=text)
        rows = rows.filter(Q(name__icontains=text) | account)
    if access.can(person, Action.VIEW_ACCOUNTS):
        return rows
    return rows.filter(Q(person=person) | Q(person__service__owner=person))


def get_token(pk: int, *, for_user: Visitor) -> ApiToken:
    """Return one token by its id; raises `NotVisibleError` when it does not exist or is not visible."""
    return get_visible(list_tokens(for_user=for_user), "there is no such token", pk=pk)


def make_service_account(*, by: Person, name: str, purpose: str) -> Person:
    """Create a service account of the person; it can do nothing until an administrator grants it a role.

    - It has no password, never approves, and counts as one person with its creator.
    """
    access.require(by, Action.WRITE)
    if ServiceAccount.objects.filter(person=by).exists():
        raise NotAllowedError(_("a service account can't create accounts"))
    with transaction.atomic():
        try:
            with transaction.atomic():
                made = Person.objects.create_user(name)
        except IntegrityError as error:
            raise FieldRefusedError("name", _("account %(name)s already exists") % {"name": name}) from error
        service = ServiceAccount(person=made, owner=by, purpose=purpose.strip(), created_at=clock.host_now())
        row_macs.vouch(service)
        service.save(force_insert=True)
        account_links.count_as_one([by, made])
        detail = {"account": name, "owner": by.get_username(), "purpose": purpose.strip()}
        trail.record(AuditAction.SERVICE_MADE, by=by, about=trail.AuditSubject(), detail=detail)
    return made


def list_service_accounts(*, for_user: Visitor, text: str = "") -> QuerySet[ServiceAccount]:
    """Return the person's own service accounts; all for managers and auditors.

    - `text`: a part of the name of the account or of its owner; "" for all.
    """
    person = access.require(for_user, Action.VIEW)
    rows = ServiceAccount.objects.select_related("person", "owner").order_by("person__username")
    if text:
        rows = rows.filter(Q(person__username__icontains=text) | Q(owner__username__icontains=text))
    return rows if access.can(person, Action.VIEW_ACCOUNTS) else rows.filter(owner=person)


def _count_request(token: ApiToken, address: str) -> None:
    """Count a request of this minute; raises `TooManyError` beyond the limit."""
    now = clock.host_now()
    minute = int(now.timestamp()) // 60
    rows = ApiToken.objects.filter(pk=token.pk)
    rows.exclude(minute=minute).update(minute=minute, asked=0, last_used_at=now, last_used_from=address[:45])
    if not rows.filter(minute=minute, asked__lt=PER_MINUTE).update(asked=F("asked") + 1):
        left = 60 - int(now.timestamp()) % 60
        raise TooManyError(f"this token made {PER_MINUTE} requests within a minute", left)


def _list_valid() -> QuerySet[ApiToken]:
    return ApiToken.objects.select_related("person").filter(revoked_at=None, expires_at__gt=clock.host_now())


def _find_token(text: str) -> ApiToken | None:
    now = clock.host_now()
    similar = (row for row in _SIMILAR.ask(_hint(text)) if row.expires_at > now) if text.startswith(BEGIN) else ()
    return _keep(next((row for row in similar if keyed_hashes.is_same(_hash(text, row), row.token_hash)), None))


def _keep(token: ApiToken | None) -> ApiToken | None:
    """Return a token, None when its account or the owner of that was deactivated, or is no owner of it."""
    if token is None or not token.person.is_active:
        return None
    service = _PROGRAM.find(token.person_id)
    if service is None or row_macs.find_fault(service):
        return token if token.made_by_id == token.person_id else None
    return token if service.owner.is_active else None


def is_valid(text: str) -> bool:
    """Return whether a token opens the API; asking counts as no request."""
    return _find_token(text) is not None


def require_valid(token_id: int) -> None:
    """Raise `NotKnownError` once a token has ended, while its request waits; asking counts as no request."""
    if _keep(_list_valid().filter(pk=token_id).first()) is None:
        raise NotKnownError("there is no such token, or it has ended")


@contextmanager
def holding(caller: Caller) -> Iterator[None]:
    """Act in one transaction, which is rolled back if the token ended meanwhile; raises `NotKnownError` then."""
    with transaction.atomic():
        yield
        require_valid(caller.token.pk)


def find_caller(text: str, *, address: str) -> Caller:
    """Return the caller of a request with a token.

    - Raises `NotKnownError` for an invalid token, `TooManyError` when the token sent too many requests, or its address
      too many invalid tokens; a valid token from the same address still works.
    """
    token = _find_token(text)
    if token is None:
        if not sign_in.count_probe(address):
            raise TooManyError("too many wrong tokens came from this address", 60)
        raise NotKnownError("there is no such token, or it has ended")
    _count_request(token, address)
    return Caller(token, token.person)
