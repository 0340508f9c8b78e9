"""Push webhooks: one address for each repository that its git host calls, with a secret that is shown once.

The address has a random part, so that nobody finds it by guessing. The secret is sealed; only workers compare it.
"""

from __future__ import annotations

import secrets

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.errors import SourceError
from applyviz.records.enums import AuditAction
from applyviz.records.fields import seal_for
from applyviz.records.git_enums import ForgeKind
from applyviz.records.models import PushDelivery, PushWebhook
from applyviz.records.sealing import Unsealed
from applyviz.sources.git.addresses import locate, read_prefix
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.plans.fetch_policy import make_policy


class MadeSecret(Struct, frozen=True):
    """A push webhook and its secret, which is shown once."""

    webhook: PushWebhook
    secret: str


def list_webhooks(*, for_user: Person) -> QuerySet[PushWebhook]:
    """Return the push webhooks in force; for administrators only."""
    access.require(for_user, Action.MANAGE)
    return PushWebhook.objects.filter(archived_at=None).select_related("created_by").defer("secret")


def get_webhook(number: int, *, for_user: Person) -> PushWebhook:
    """Return one push webhook by its id; raises `NotVisibleError`."""
    return get_visible(list_webhooks(for_user=for_user), "there is no such webhook", pk=number)


def list_deliveries(webhook: PushWebhook, *, for_user: Person) -> QuerySet[PushDelivery]:
    """Return the deliveries to a push webhook, newest first."""
    access.require(for_user, Action.MANAGE)
    return webhook.deliveries.defer("content")


def has_webhook(location: str) -> bool:
    """Return whether pushes to a repository are reported."""
    return PushWebhook.objects.filter(location=location, archived_at=None).exists()


def _make_secret() -> str:
    return secrets.token_urlsafe(32)


def _record(webhook: PushWebhook, what: str, by: Person) -> None:
    detail = {"what": what, "repository": webhook.repository, "host": webhook.forge}
    trail.record(AuditAction.REPOSITORY_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def add_webhook(repository: str, forge: ForgeKind, *, by: Person) -> MadeSecret:
    """Add a push webhook of a repository; raises `NotValidError` for an address that cannot be one."""
    access.require(by, Action.MANAGE)
    try:
        address = read_prefix(repository, make_policy())
    except SourceError as error:
        raise NotValidError(str(error)) from None
    secret, now = _make_secret(), clock.now()
    webhook = PushWebhook(
        identifier=secrets.token_urlsafe(24),
        repository=address,
        location=locate(address),
        forge=forge,
        secret=Unsealed.of_bytes(secret.encode()),
        secret_at=now,
        created_at=now,
        created_by=by,
    )
    try:
        with transaction.atomic():
            webhook.save(force_insert=True)
            _record(webhook, "push webhook added", by)
    except IntegrityError:
        raise NotValidError(_("There is already a push webhook for this repository.")) from None
    return MadeSecret(webhook, secret)


def rotate_secret(webhook: PushWebhook, *, by: Person) -> MadeSecret:
    """Replace the secret; deliveries with the earlier one are refused from now on."""
    access.require(by, Action.MANAGE)
    secret = _make_secret()
    with transaction.atomic():
        rows = PushWebhook.objects.filter(pk=webhook.pk, archived_at=None)
        sealed = seal_for(webhook, "secret", Unsealed.of_bytes(secret.encode()))
        if not rows.update(secret=sealed, secret_at=clock.now()):
            raise NotPossibleError(_("this webhook was deleted"))
        _record(webhook, "push webhook, new secret", by)
    webhook.refresh_from_db()
    return MadeSecret(webhook, secret)


def remove_webhook(webhook: PushWebhook, *, by: Person) -> None:
    """Remove a push webhook and delete its secret; reviews go on following, but no push is reported any more."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        rows = PushWebhook.objects.filter(pk=webhook.pk, archived_at=None)
        if not rows.update(archived_at=clock.now(), secret=None):
            raise NotPossibleError(_("this webhook was deleted"))
        _record(webhook, "push webhook removed", by)
