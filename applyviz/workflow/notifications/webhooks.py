"""Management of webhooks and their deliveries. A secret is entered once and never shown again."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.errors import SourceError
from applyviz.records.enums import AuditAction, DeliveryState, NotificationKind
from applyviz.records.fields import seal_for
from applyviz.records.models import Delivery, NotificationEvent, Webhook
from applyviz.records.sealing import Unsealed
from applyviz.sources.url import check
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.notifications.deliveries import make_policy
from applyviz.workflow.notifications.events import queue_delivery

SHORTEST_SECRET = 16


def list_webhooks(*, for_user: Person) -> QuerySet[Webhook]:
    """Return all webhooks that are not deleted; for administrators only."""
    access.require(for_user, Action.MANAGE)
    return Webhook.objects.filter(archived_at=None).select_related("created_by").defer("secret")


def get_webhook(number: int, *, for_user: Person) -> Webhook:
    """Return one webhook by its id; raises `NotVisibleError`."""
    return get_visible(list_webhooks(for_user=for_user), "there is no such webhook", pk=number)


def _check(name: str, url: str, secret: str | None, events: Iterable[str]) -> list[str]:
    if not name.strip():
        raise NotValidError(_("a webhook needs a name"))
    try:
        check(url, policy=make_policy())
    except SourceError as error:
        raise NotValidError(_("this URL can't be used: %(error)s") % {"error": error}) from error
    if secret is not None and len(secret) < SHORTEST_SECRET:
        raise NotValidError(_("the secret must have at least %(least)s characters") % {"least": SHORTEST_SECRET})
    wanted = sorted(set(events))
    if not set(wanted) <= set(NotificationKind.values):
        raise NotValidError(_("unknown event"))
    return wanted


def find_host(webhook: Webhook) -> str:
    """Return the host of an address; for many chats, the rest is enough to post a message."""
    return urlsplit(webhook.url).netloc.rpartition("@")[2]


def _record(webhook: Webhook, what: str, by: Person) -> None:
    detail = {"what": what, "webhook": webhook.name, "host": find_host(webhook), "events": webhook.events}
    trail.record(AuditAction.WEBHOOK_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def add_webhook(*, name: str, url: str, secret: str, events: Iterable[str], by: Person) -> Webhook:
    """Add a webhook; raises `NotValidError` for an address that is not allowed."""
    access.require(by, Action.MANAGE)
    wanted = _check(name, url, secret, events)
    with transaction.atomic():
        webhook = Webhook.objects.create(
            name=name.strip(),
            url=url,
            secret=Unsealed.of_bytes(secret.encode()),
            events=wanted,
            created_at=clock.host_now(),
            created_by=by,
        )
        _record(webhook, "added", by)
    return webhook


def edit_webhook(
    webhook: Webhook, *, name: str, url: str, secret: str, events: Iterable[str], is_enabled: bool, by: Person
) -> None:
    """Change a webhook; an empty secret keeps the present one."""
    access.require(by, Action.MANAGE)
    wanted = _check(name, url, secret or None, events)
    values: dict[str, object] = {"name": name.strip(), "url": url, "events": wanted, "is_enabled": is_enabled}
    if secret:
        values["secret"] = seal_for(webhook, "secret", Unsealed.of_bytes(secret.encode()))
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, archived_at=None).update(**values):
            raise NotPossibleError(_("this webhook was deleted"))
        webhook.refresh_from_db()
        _record(webhook, "changed, with a new secret" if secret else "changed", by)


def delete_webhook(webhook: Webhook, *, by: Person) -> None:
    """Delete a webhook; its past deliveries stay on record."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, archived_at=None).update(
            archived_at=clock.host_now(), is_enabled=False
        ):
            raise NotPossibleError(_("this webhook is already deleted"))
        _record(webhook, "removed", by)


def try_webhook(webhook: Webhook, *, by: Person) -> Delivery:
    """Send a test event to one webhook."""
    access.require(by, Action.MANAGE)
    now = clock.host_now()
    with transaction.atomic():
        notification_event = NotificationEvent.objects.create(
            key=f"tried:{webhook.pk}:{now.timestamp():.6f}",
            event=NotificationKind.WEBHOOK_TRIED,
            facts={"by": by.get_username()},
            at=now,
        )
        return queue_delivery(webhook, notification_event)


def list_deliveries(webhook: Webhook, *, for_user: Person) -> QuerySet[Delivery]:
    """Return the deliveries of a webhook, newest first."""
    access.require(for_user, Action.MANAGE)
    return webhook.deliveries.select_related("notification_event")


def deliver_again(webhook: Webhook, number: int, *, by: Person) -> None:
    """Retry a delivery that was given up, with the same id and body."""
    access.require(by, Action.MANAGE)
    again = webhook.deliveries.filter(pk=number, state=DeliveryState.GIVEN_UP)
    if not again.update(state=DeliveryState.WAITING, attempts=0, due_at=clock.now(), finished_at=None):
        raise NotPossibleError(_("only failed deliveries can be retried"))
