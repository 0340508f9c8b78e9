"""Keyed digests of this installation; a digest reveals no secret, and each key serves one purpose.

Only workers hold the digest key, which covers plan digests, effects, plan MACs and the signatures of checkpoints. Web
processes hold another key (`records.keyed_hashes`).
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.planning.digest import fingerprint
from applyviz.engine.planning.model.plan import PlannedObject


def digest_key() -> bytes:
    """Return the key of plan digests and effects; raises `ImproperlyConfigured` in a process that lacks it."""
    if not settings.APPLYVIZ_DIGEST_KEY:
        raise ImproperlyConfigured("APPLYVIZ_DIGEST_KEY: it is not set here; workers hold it")
    return hashlib.sha256(settings.APPLYVIZ_DIGEST_KEY.encode()).digest()


def digest_key_id() -> str:
    """Return an id of the digest key that reveals nothing about it."""
    return hashlib.sha256(b"applyviz digest key id" + digest_key()).hexdigest()[:16]


def digest_effect(change: PlannedObject) -> str:
    """Return the keyed hash of what a change does."""
    return fingerprint.digest_effect(change, key=digest_key())
