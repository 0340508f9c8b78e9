"""The MAC of a plan: a keyed hash over every stored byte that a run uses, computed when the plan is complete.

It covers the rows in the planner's memory, never rows that were read back, and is stored with the plan. An attacker
who bypasses the database's triggers cannot compute it: the key is not in the database. A matching MAC proves that
nothing changed since. Without a matching one, everything is derived again (`runs/plan_integrity.py`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.foundation import digests

KEY = "seal"
"""The key of the MAC in `Plan.summary`."""

_OF_A_PLAN = (
    "id",
    "digest",
    "digest_key_id",
    "identity",
    "account",
    "options",
    "decisions",
    "policy_version",
    "cluster_uid",
)
_OF_A_CHANGE = tuple(f.attname for f in ObjectChange._meta.concrete_fields if f.name != "sealed")


def _key() -> bytes:
    """Return a key for MACs only, so that no other digest of this installation can pass for one."""
    return hmac.new(digests.digest_key(), b"applyviz seal of a stored plan", hashlib.sha256).digest()


def make_seal(plan: Plan, rows: Iterable[ObjectChange]) -> str:
    """Return the hexadecimal MAC of a plan and all its changes, in the order of their positions.

    - Covers digest, target, identity, options, resolutions, policies and tag key of the plan, and every column of each
      change: the masked document, the encrypted bytes, what is sent, step and position.
    """
    found = hmac.new(_key(), digestmod=hashlib.sha256)

    def add(value: JSONValue) -> None:
        found.update(canonical_json(value).encode() + b"\n")

    add([_hash(plan.tag_key.token), *(getattr(plan, name) for name in _OF_A_PLAN)])
    for row in rows:
        add([_hash(row.sealed.token), *(getattr(row, name) for name in _OF_A_CHANGE)])
    return found.hexdigest()


def _hash(token: bytes) -> str:
    return hashlib.sha256(token).hexdigest()


def fits(plan: Plan, rows: Iterable[ObjectChange]) -> bool:
    """Return whether the MAC of a plan matches what is stored now; False when it has none."""
    kept = plan.summary.get(KEY)
    return isinstance(kept, str) and hmac.compare_digest(kept.encode(), make_seal(plan, rows).encode())
