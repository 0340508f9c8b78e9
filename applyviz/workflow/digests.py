"""Keyed digests of this installation: of plans, of effects, of requests; the key betrays no secret."""

from __future__ import annotations

import hashlib

from django.conf import settings

from applyviz.engine.planning import fingerprint
from applyviz.engine.planning.plan import ObjectChange


def digest_key() -> bytes:
    """The key of plan digests and effects of this installation."""
    return hashlib.sha256(settings.APPLYVIZ_DIGEST_KEY.encode()).digest()


def digest_key_id() -> str:
    """Which key that is, without telling anything about it."""
    return hashlib.sha256(b"applyviz digest key id" + digest_key()).hexdigest()[:16]


def digest_effect(change: ObjectChange) -> str:
    """The keyed hash of what a change does."""
    return fingerprint.digest_effect(change, key=digest_key())
