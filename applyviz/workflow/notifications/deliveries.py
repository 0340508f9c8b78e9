"""Webhook deliveries: signed, retried with growing pauses, given up in the end; each attempt is recorded.

The signature is HMAC-SHA256 under the webhook's secret over `TIMESTAMP.BODY`, in `Applyviz-Signature: v1=HEX`. The
address is checked at each attempt by the rules of links (`sources/url.py`), and no redirect is followed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F

from applyviz import __version__, clock, queue
from applyviz.engine.objects.errors import SourceError
from applyviz.queue import TaskName
from applyviz.records.enums import DeliveryState
from applyviz.records.models import Delivery, Notification
from applyviz.records.sealing import SealError
from applyviz.sources.pinned import FetchPolicy
from applyviz.sources.url import post
from applyviz.workflow.notifications.texts import find_url, render_sentence

MAX_ATTEMPTS = 8
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=1)
_CLAIMED = timedelta(seconds=60)
_ERROR_LENGTH = 300


def render_body(delivery: Delivery) -> bytes:
    """Return the body that a webhook receives, identical for every attempt."""
    notification_event = delivery.notification_event
    content = {
        "id": str(delivery.identifier),
        "event": notification_event.event,
        "at": notification_event.at.isoformat(),
        "text": render_sentence(notification_event),
        "url": find_url(notification_event),
        **notification_event.facts,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return the signature that a receiver recomputes."""
    return "v1=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def make_policy() -> FetchPolicy:
    """Return the allowed webhook addresses: the rules of URLs, with the same exceptions."""
    return FetchPolicy(
        internal=settings.APPLYVIZ_LINK_HOSTS,
        ca_file=settings.APPLYVIZ_LINK_CA_FILE,
        total_seconds=10.0,
        max_bytes=65_536,
    )


def _send(delivery: Delivery, now: datetime) -> int:
    body, timestamp = render_body(delivery), str(int(now.timestamp()))
    secret = delivery.webhook.secret.open_bytes()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"applyviz/{__version__}",
        "Applyviz-Id": str(delivery.identifier),
        "Applyviz-Event": delivery.notification_event.event,
        "Applyviz-Timestamp": timestamp,
        "Applyviz-Signature": sign(secret, timestamp, body),
    }
    return post(delivery.webhook.url, body, headers, policy=make_policy())


def _claim(delivery_id: int, now: datetime) -> Delivery | None:
    mine = Delivery.objects.filter(pk=delivery_id, state=DeliveryState.WAITING, due_at__lte=now)
    if not mine.update(due_at=now + _CLAIMED, attempts=F("attempts") + 1):
        return None
    return Delivery.objects.select_related("webhook", "notification_event").get(pk=delivery_id)


def deliver(delivery_id: int) -> None:
    """Attempt one delivery; does nothing when it is not due, over, or claimed by another worker."""
    now = clock.now()
    delivery = _claim(delivery_id, now)
    if delivery is None:
        return
    status, error = 0, ""
    if not delivery.webhook.is_enabled or delivery.webhook.archived_at is not None:
        _finish(delivery, DeliveryState.GIVEN_UP, 0, "the webhook is disabled")
        return
    try:
        status = _send(delivery, now)
    except (SourceError, SealError) as failure:
        error = str(failure)
    if 200 <= status < 300:
        _finish(delivery, DeliveryState.DELIVERED, status, "")
    elif delivery.attempts >= MAX_ATTEMPTS:
        _finish(delivery, DeliveryState.GIVEN_UP, status, error or "it was not accepted")
    else:
        pause = min(_FIRST_PAUSE * 4 ** (delivery.attempts - 1), _LONGEST_PAUSE)
        rows = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts)
        rows.update(due_at=now + pause, status=status, error=error[:_ERROR_LENGTH])


def _finish(delivery: Delivery, state: DeliveryState, status: int, error: str) -> None:
    rows = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts, state=DeliveryState.WAITING)
    rows.update(state=state, status=status, error=error[:_ERROR_LENGTH], finished_at=clock.host_now())


def ask_again(*, now: datetime) -> int:
    """Enqueue every delivery and email that is due; return their number."""
    grace = now - timedelta(seconds=3)  # the message of a new one is already under way
    due = Delivery.objects.filter(state=DeliveryState.WAITING, due_at__lt=grace).values_list("pk", flat=True)[:200]
    mails = Notification.objects.filter(mail_due_at__lt=grace, mailed_at=None).values_list("pk", flat=True)[:200]
    sent = sum(queue.send(TaskName.DELIVER, delivery_id=pk) for pk in due)
    return sent + sum(queue.send(TaskName.SEND_MAIL, notification_id=pk) for pk in mails)
