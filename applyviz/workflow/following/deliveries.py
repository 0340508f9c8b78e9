"""Deliveries of git hosts: a web process stores them within milliseconds, a worker verifies and reads them.

The answer to a delivery is the same whether or not its webhook exists and its signature is right: only its size and its
rate decide. Web processes of a team cannot open the secret; the whole delivery is sealed until a worker read it.

Replay: a delivery counts once. Its id and its body were seen before if a genuine delivery had them; the signature
covers the body alone, so a new id does not make an old body new. GitLab signs nothing, and its bodies name no time, so
a push that is made again has the body of the first one: there both must be the same. A repeated delivery does nothing,
and a new one only makes workers fetch the current branch: no delivery can bring back an earlier commit.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.accessors import as_mapping, as_text
from applyviz.queue import TaskName
from applyviz.records.enums import LimitKind
from applyviz.records.git_enums import ForgeKind, PushResult
from applyviz.records.keyed_hashes import web_key
from applyviz.records.models import BranchPush, PushDelivery, PushWebhook
from applyviz.records.sealing import Unsealed
from applyviz.workflow.following import branches
from applyviz.workflow.following.payloads import PayloadError, PushEvent, find_identifier, is_genuine, read_push
from applyviz.workflow.foundation import outbox, rate_limit, row_macs
from applyviz.workflow.people.commit_people import show_name, write_login
from applyviz.workflow.people.humans import name_mailbox

MOST_BYTES = 2 * 1024 * 1024
MOST_OF_ADDRESS, MOST_OF_WEBHOOK = 300, 60
KEPT_DAYS, MOST_KEPT, MOST_WAITING = 90, 1_000, 200
_GENUINE = (PushResult.ACCEPTED, PushResult.IGNORED)
_MINUTE = timedelta(minutes=1)
_LOST = timedelta(seconds=5)


def _count(text: str, most: int) -> bool:
    bucket = rate_limit.find_bucket(LimitKind.PUSH, text)
    return rate_limit.count_one(LimitKind.PUSH, bucket, window=_MINUTE, now=clock.now()) <= most


def may_take(identifier: str, address: str) -> bool:
    """Count a delivery; return False when its address or its webhook sends too many, whether or not that exists."""
    with transaction.atomic():
        return _count(f"from {address}", MOST_OF_ADDRESS) and _count(f"to {identifier}", MOST_OF_WEBHOOK)


def _mark(body: bytes) -> str:
    return hmac.new(web_key("bodies of deliveries"), body, hashlib.sha256).hexdigest()


def take_delivery(identifier: str, headers: Mapping[str, str], body: bytes) -> None:
    """Store a delivery for a worker; forgets one to an address that does not exist, after the same work.

    - Forgets one as well while hundreds wait for a worker: what nobody verified yet must not fill the database.
    """
    content = json.dumps({"headers": dict(headers), "body": b64encode(body).decode()}).encode()
    mark = _mark(body)
    with transaction.atomic():
        webhook = PushWebhook.objects.filter(identifier=identifier, archived_at=None).only("pk", "forge").first()
        if webhook is None or webhook.deliveries.filter(state=PushResult.WAITING).count() >= MOST_WAITING:
            return
        delivery = PushDelivery.objects.create(
            webhook=webhook,
            identifier=find_identifier(ForgeKind(webhook.forge), headers),
            body_mark=mark,
            content=Unsealed.of_bytes(content),
            received_at=clock.now(),
        )
        outbox.post(TaskName.READ_PUSH, delivery_id=delivery.pk)


def _finish(delivery: PushDelivery, state: PushResult, reason: str = "", **values: object) -> None:
    PushDelivery.objects.filter(pk=delivery.pk, state=PushResult.WAITING).update(
        state=state, reason=reason[:300], content=None, finished_at=clock.now(), **values
    )


def read_delivery(delivery_id: int) -> None:
    """Verify a delivery and note its push; does nothing when it was read before."""
    with transaction.atomic():
        webhook = PushWebhook.objects.select_for_update(of=("self",)).filter(deliveries=delivery_id).first()
        delivery = PushDelivery.objects.filter(pk=delivery_id, state=PushResult.WAITING).first()
        if webhook is None or delivery is None or delivery.content is None:
            return
        if webhook.secret is None:
            _finish(delivery, PushResult.REFUSED, _("the webhook was removed"))
            return
        _read(delivery, webhook, webhook.secret.open_bytes().decode())


def _read(delivery: PushDelivery, webhook: PushWebhook, secret: str) -> None:
    forge = ForgeKind(webhook.forge)
    content = as_mapping(delivery.content.open_json() if delivery.content is not None else {})
    headers = {name: as_text(text) for name, text in as_mapping(content["headers"]).items()}
    body = b64decode(as_text(content["body"]))
    if not is_genuine(forge, headers, body, secret):
        _finish(delivery, PushResult.REFUSED, _("the signature or the token is not that of this webhook"))
        return
    if _was_seen(delivery, forge):
        _finish(delivery, PushResult.REPEATED, _("an earlier delivery has the same id or the same body"))
        return
    try:
        _note(delivery, webhook, read_push(forge, headers, body))
    except PayloadError as error:
        _finish(delivery, PushResult.IGNORED if error.is_expected else PushResult.REFUSED, str(error))


def _was_seen(delivery: PushDelivery, forge: ForgeKind) -> bool:
    """Return whether a genuine delivery had this id or this body; anybody may have sent a refused one.

    - GitLab repeats a delivery with both, and its id alone is also that of what followed from a push.
    """
    genuine = PushDelivery.objects.filter(webhook=delivery.webhook_id, state__in=_GENUINE)
    same = Q(body_mark=delivery.body_mark)
    if forge is ForgeKind.GITLAB:
        same &= Q(identifier=delivery.identifier)
    elif delivery.identifier:
        same |= Q(identifier=delivery.identifier)
    return genuine.filter(same).exists()


def _is_about(webhook: PushWebhook, event: PushEvent) -> bool:
    """Return whether a push is one to the repository of a webhook: the end of its address names it."""
    path = event.path.casefold().strip("/")
    return bool(path) and f"/{webhook.location.partition('/')[2]}".endswith(f"/{path}")


def _note(delivery: PushDelivery, webhook: PushWebhook, event: PushEvent) -> None:
    if not _is_about(webhook, event):
        _finish(delivery, PushResult.REFUSED, _("the push is to another repository"))
        return
    push = BranchPush(
        delivery=delivery,
        location=webhook.location,
        branch=event.branch,
        before=event.before,
        after=event.after,
        name=show_name(event.pusher),
        login=write_login(webhook.location.partition("/")[0], event.login),
        email=name_mailbox(event.email),
        at=delivery.received_at,
    )
    row_macs.vouch(push)
    push.save(force_insert=True)
    numbers = branches.note_push(push)
    reason = "" if numbers else _("no review follows this branch")
    facts = {"branch": event.branch, "commit": event.after, "pusher": push.name, "reviews": numbers}
    _finish(delivery, PushResult.ACCEPTED, reason, **facts)


def find_unread(*, now: datetime) -> list[int]:
    """Return deliveries that no worker has read for a while."""
    waiting = PushDelivery.objects.filter(state=PushResult.WAITING, received_at__lt=now - _LOST)
    return list(waiting.order_by("pk").values_list("pk", flat=True)[:200])


def forget_old(*, now: datetime) -> None:
    """Delete deliveries after 90 days, of those that were not genuine all but the newest thousand of a webhook.

    - Pushes stay known for a year longer: they say who is an editor.
    """
    PushDelivery.objects.filter(received_at__lt=now - timedelta(days=KEPT_DAYS)).delete()
    BranchPush.objects.filter(at__lt=now - timedelta(days=KEPT_DAYS + 365)).delete()
    others = PushDelivery.objects.exclude(state__in=_GENUINE)
    for webhook in PushWebhook.objects.only("pk"):
        mine = others.filter(webhook=webhook)
        last = mine.order_by("-pk").values_list("pk", flat=True)[MOST_KEPT : MOST_KEPT + 1].first()
        if last is not None:
            mine.filter(pk__lte=last).delete()
