"""Read models of push webhooks and their deliveries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.git_enums import ForgeKind, PushResult
from applyviz.records.models import PushDelivery, PushWebhook
from applyviz.sources.git.model import shorten
from applyviz.web.components.badges import Appearance

_STYLES = {
    PushResult.WAITING: Appearance("·", PushResult.WAITING.label, "calm"),
    PushResult.ACCEPTED: Appearance("✓", PushResult.ACCEPTED.label, "add"),
    PushResult.IGNORED: Appearance("·", PushResult.IGNORED.label, "calm"),
    PushResult.REPEATED: Appearance("!", PushResult.REPEATED.label, "warn"),
    PushResult.REFUSED: Appearance("×", PushResult.REFUSED.label, "remove"),  # noqa: RUF001 the cross is drawn
}
STEPS: dict[ForgeKind, str | Promise] = {
    ForgeKind.GITHUB: _(
        "In the repository: Settings, Webhooks, Add webhook. Enter the address as Payload URL, application/json as "
        "content type and the secret, and choose just the push event."
    ),
    ForgeKind.GITLAB: _(
        "In the project: Settings, Webhooks, Add new webhook. Enter the address as URL and the secret as Secret token, "
        "and choose push events."
    ),
    ForgeKind.GITEA: _(
        "In the repository: Settings, Webhooks, Add webhook, Gitea. Enter the address as Target URL, POST, "
        "application/json and the secret, and choose push events."
    ),
}


class PushWebhookRow(Struct, frozen=True):
    """One push webhook without its secret; `last` is the result of its last delivery."""

    webhook: PushWebhook
    forge: str
    steps: str | Promise
    url: str
    last: Appearance | None
    last_at: datetime | None


class PushDeliveryRow(Struct, frozen=True):
    """One delivery and its result."""

    delivery: PushDelivery
    style: Appearance
    commit: str
    reviews: tuple[tuple[int, str], ...]


def present_webhook(webhook: PushWebhook) -> PushWebhookRow:
    """Return one push webhook, without its secret."""
    last = webhook.deliveries.only("state", "received_at").first()
    return PushWebhookRow(
        webhook,
        forge=str(ForgeKind(webhook.forge).label),
        steps=STEPS[ForgeKind(webhook.forge)],
        url=reverse("settings:show-repository-push", args=[webhook.pk]),
        last=_STYLES[PushResult(last.state)] if last is not None else None,
        last_at=last.received_at if last is not None else None,
    )


def present_deliveries(found: Iterable[PushDelivery]) -> list[PushDeliveryRow]:
    """Return the rows of the delivery log."""
    return [
        PushDeliveryRow(
            one,
            style=_STYLES[PushResult(one.state)],
            commit=shorten(one.commit),
            reviews=tuple((number, reverse("reviews:follow-branch", args=[number])) for number in one.reviews),
        )
        for one in found
    ]
