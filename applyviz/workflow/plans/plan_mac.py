"""The seal of a plan: a keyed hash over every stored byte that a run rests on, made when the plan is complete.

It is made of the rows as the planner holds them, never of what is read back, and kept with the plan. Who can write
past the database's triggers cannot make one: the key is not in the database. A seal that fits says that nothing was
changed since; one that does not fit, or is missing, says nothing: then all is derived anew (`runs/binding.py`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.foundation import digests

KEY = "seal"
"""Under which name of `Plan.summary` it is kept."""

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
    """A key for nothing but seals, so that no other digest of this installation can pass for one."""
    return hmac.new(digests.digest_key(), b"applyviz seal of a stored plan", hashlib.sha256).digest()


def make_seal(plan: Plan, rows: Iterable[ObjectChange]) -> str:
    """The seal of a plan and all its changes, in the order of their positions; hexadecimal text.

    - Covers digest, target, identity, options, decisions, policies and tag key of the plan, and every column of
      each change: the masked document, the sealed bytes, what is sent, step and position.
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
    """Whether the seal that a plan keeps is that of what is stored now; False as well when it keeps none."""
    kept = plan.summary.get(KEY)
    return isinstance(kept, str) and hmac.compare_digest(kept.encode(), make_seal(plan, rows).encode())
