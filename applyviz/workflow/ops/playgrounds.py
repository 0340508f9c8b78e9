"""Stored playground inputs, so that a link can be shared for some days.

They are not audited, because nothing was planned for a cluster. The key in the link is the only access: the content is
encrypted under it, and the database holds its hash. Secret values are masked before anything is stored. The number of
inputs per visitor is limited.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from msgspec import Struct

from applyviz import clock, sealing_keys
from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import LimitKind
from applyviz.records.models import PlaygroundInput
from applyviz.workflow.foundation import rate_limit
from applyviz.workflow.foundation.visible_rows import get_visible

KEY_BYTES = 24
LOCATION = "records_playgroundinput.content"
"""The location that contents are bound to; each has a separate key besides."""
MOST_KEPT = 5_000
WINDOW = timedelta(minutes=1)
# A signed-in person is identified.
_MORE_FOR_PEOPLE = 6


class Kept(Struct, frozen=True):
    """A stored input and its expiry."""

    content: JSONObject
    created_at: datetime
    expires_at: datetime


def _lifetime() -> timedelta:
    return timedelta(days=settings.APPLYVIZ_PLAYGROUND_DAYS)


def admit(visitor: str, *, is_visitor: bool) -> datetime | None:
    """Count an input of a visitor (account or address); return until when they must wait, None when they may go on."""
    most = settings.APPLYVIZ_PLAYGROUND_QUESTIONS * (1 if is_visitor else _MORE_FOR_PEOPLE)
    if not most:
        return None
    now, bucket = clock.now(), rate_limit.find_bucket(LimitKind.VISITOR, visitor)
    until = rate_limit.find_until(LimitKind.VISITOR, bucket, most=most, window=WINDOW, now=now)
    if until is None:
        rate_limit.count_one(LimitKind.VISITOR, bucket, window=WINDOW, now=now)
    return until


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _opening_key(key: str) -> str:
    return sealing_keys.opening_key_from(key, "applyviz question to the playground")


def _seal(content: JSONObject, key: str) -> bytes:
    return sealing_keys.seal(json.dumps(content).encode(), sealing_keys.sealing_key_of(_opening_key(key)), LOCATION)


def make_key() -> str:
    """Return a new key for a link."""
    return secrets.token_urlsafe(KEY_BYTES)


def keep_input(key: str, content: JSONObject, *, at: datetime | None = None) -> None:
    """Store an input under a new key.

    - Removes the oldest inputs when there are very many, so that visitors cannot fill the database.
    """
    PlaygroundInput.objects.create(key=_hash(key), content=_seal(content, key), created_at=at or clock.host_now())
    surplus = PlaygroundInput.objects.order_by("-pk").values_list("pk", flat=True)[MOST_KEPT : MOST_KEPT + 1].first()
    if surplus is not None:
        PlaygroundInput.objects.filter(pk__lte=surplus).delete()


def open_input(key: str) -> Kept:
    """Return the input that was stored under a key.

    - Raises `NotVisibleError` for an unknown or expired key.
    """
    kept = PlaygroundInput.objects.filter(created_at__gt=clock.host_now() - _lifetime())
    row = get_visible(kept, "this link does not exist or has expired", key=_hash(key))
    content = json.loads(sealing_keys.unseal(bytes(row.content), [_opening_key(key)], LOCATION))
    return Kept(content, row.created_at, row.created_at + _lifetime())


def remove_expired(*, now: datetime) -> int:
    """Remove every expired input; return their number."""
    removed, _details = PlaygroundInput.objects.filter(created_at__lte=now - _lifetime()).delete()
    return removed
