"""Read models of notifications, settings, webhooks and deliveries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.records.enums import DeliveryState, NotificationKind
from applyviz.records.models import Cluster, Delivery, Notification, Webhook
from applyviz.web.components.badges import Appearance
from applyviz.workflow.notifications.choices import ALWAYS_SHOWN, NotificationChannels
from applyviz.workflow.notifications.deliveries import MAX_ATTEMPTS
from applyviz.workflow.notifications.texts import render_sentence
from applyviz.workflow.notifications.webhooks import find_host

_TONES = {
    NotificationKind.NEEDS_YOU: ("▸", "change"),
    NotificationKind.REVIEW_REQUESTED: ("▸", "change"),
    NotificationKind.APPROVED: ("✓", "add"),
    NotificationKind.CHANGES_REQUESTED: ("!", "warn"),
    NotificationKind.APPROVALS_DROPPED: ("!", "warn"),
    NotificationKind.APPROVALS_EXPIRING: ("!", "warn"),
    NotificationKind.RUN_STARTED: ("▸", "change"),
    NotificationKind.RUN_RETRIED: ("▸", "change"),
    NotificationKind.RUN_FINISHED: ("✓", "add"),
    NotificationKind.RUN_FAILED: ("×", "remove"),  # noqa: RUF001 the cross is drawn
    NotificationKind.RUN_ATTENTION: ("!", "warn"),
    NotificationKind.RUN_STALE: ("!", "warn"),
    NotificationKind.RUN_CANCELED: ("−", "warn"),  # noqa: RUF001 the minus sign is drawn
    NotificationKind.START_CANCELED: ("!", "warn"),
    NotificationKind.EMERGENCY_APPLIED: ("!", "remove"),
    NotificationKind.FOLLOWING_ATTENTION: ("!", "warn"),
    NotificationKind.CHECKPOINT_PUBLISHED: ("✓", "calm"),
    NotificationKind.WEBHOOK_TRIED: ("·", "calm"),
}
_DELIVERY_STYLES = {
    DeliveryState.WAITING: Appearance("·", DeliveryState.WAITING.label, "calm"),
    DeliveryState.DELIVERED: Appearance("✓", DeliveryState.DELIVERED.label, "add"),
    DeliveryState.GIVEN_UP: Appearance("×", DeliveryState.GIVEN_UP.label, "remove"),  # noqa: RUF001 the cross is drawn
}


class NoticeRow(Struct, frozen=True):
    """One notification; `url` marks it as read and leads to its subject."""

    style: Appearance
    text: str
    cluster: str
    at: datetime
    url: str
    is_unread: bool


class ChoiceRow(Struct, frozen=True):
    """The settings of one event."""

    event: str
    label: str
    is_shown: bool
    is_mailed: bool
    is_fixed: bool


class WebhookRow(Struct, frozen=True):
    """One webhook in the list; without its secret, and with only the host of its address."""

    name: str
    host: str
    events: str
    is_enabled: bool
    by: str
    at: datetime
    url: str
    last: Appearance | None


class DeliveryRow(Struct, frozen=True):
    """One line of the delivery log."""

    style: Appearance
    event: str
    text: str
    identifier: str
    attempts: str
    answer: str
    at: datetime
    due_at: datetime | None
    again_url: str


def _style_of(event: NotificationKind) -> Appearance:
    glyph, tone = _TONES[event]
    return Appearance(glyph, event.label, tone)


def _slug_of(notification: Notification) -> str:
    return str(notification.notification_event.facts.get("cluster", ""))


def _name_clusters(notifications: Iterable[Notification]) -> dict[str, str]:
    """The names by slug: events keep the slug, which never changes."""
    slugs = {_slug_of(one) for one in notifications} - {""}
    return dict(Cluster.objects.filter(slug__in=slugs).values_list("slug", "name")) if slugs else {}


def present_notices(notifications: Iterable[Notification]) -> list[NoticeRow]:
    """Return rows of the list."""
    shown = list(notifications)
    names = _name_clusters(shown)
    return [
        NoticeRow(
            style=_style_of(NotificationKind(one.notification_event.event)),
            text=render_sentence(one.notification_event),
            cluster=names.get(slug := _slug_of(one), slug),
            at=one.notification_event.at,
            url=reverse("notifications:open-notification", args=[one.pk]),
            is_unread=one.read_at is None,
        )
        for one in shown
    ]


def present_choices(choices: dict[NotificationKind, NotificationChannels]) -> list[ChoiceRow]:
    """Return rows of the form."""
    return [
        ChoiceRow(event.value, str(event.label), channels.is_shown, channels.is_mailed, event in ALWAYS_SHOWN)
        for event, channels in choices.items()
    ]


def present_webhook(webhook: Webhook, last: Delivery | None = None) -> WebhookRow:
    """Return one webhook."""
    labels = [str(NotificationKind(event).label) for event in webhook.events]
    return WebhookRow(
        name=webhook.name,
        host=find_host(webhook),
        events=", ".join(labels) or _("all events"),
        is_enabled=webhook.is_enabled,
        by=webhook.created_by.get_username(),
        at=webhook.created_at,
        url=reverse("settings:show-webhook", args=[webhook.pk]),
        last=_DELIVERY_STYLES[DeliveryState(last.state)] if last else None,
    )


def present_deliveries(deliveries: Iterable[Delivery]) -> list[DeliveryRow]:
    """Return the rows of the delivery log."""
    return [_present_delivery(one) for one in deliveries]


def _present_delivery(one: Delivery) -> DeliveryRow:
    is_over = one.state == DeliveryState.GIVEN_UP
    again = reverse("settings:deliver-again", args=[one.webhook_id, one.pk]) if is_over else ""
    answer = _("responded %(status)d") % {"status": one.status} if one.status else one.error
    return DeliveryRow(
        style=_DELIVERY_STYLES[DeliveryState(one.state)],
        event=str(NotificationKind(one.notification_event.event).label),
        text=render_sentence(one.notification_event),
        identifier=str(one.identifier),
        attempts=_("%(number)d of %(all)d") % {"number": one.attempts, "all": MAX_ATTEMPTS},
        answer=answer,
        at=one.created_at,
        due_at=one.due_at if one.state == DeliveryState.WAITING else None,
        again_url=again,
    )
