"""Compute digests: what an approval binds to, and what the runner compares.

Rule: HMAC-SHA256 under one key of the installation over canonical JSON. The digest of a plan covers target, identity,
options, policy version, resolutions, order, and the request templates and effect of each object; equal digests share
their approvals. The key prevents guessing values of Secrets from a digest.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.engine.planning.digest.effects import PlainPath, effect
from applyviz.engine.planning.digest.serialize import options_to_json
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet

__all__ = ["digest_effect", "digest_json", "digest_plan", "effect"]


def digest_json(value: JSONValue, *, key: bytes) -> str:
    """Return the digest of any JSON value, as hexadecimal text."""
    return hmac.new(key, canonical_json(value).encode(), hashlib.sha256).hexdigest()


def digest_effect(change: PlannedObject, *, key: bytes, ignore: Iterable[PlainPath] = ()) -> str:
    """Return the digest of one change; it stays the same after a fresh read of live if nothing relevant changed."""
    return digest_json(effect(change, ignore=ignore), key=key)


def digest_plan(
    plan: PlannedSet,
    *,
    key: bytes,
    target: str,
    identity: str,
    policy_version: str = "",
    policy_digest: str = "",
    review: int = 0,
    decisions: JSONValue = (),
    effects: Sequence[str] | None = None,
) -> str:
    """Return the digest of a whole plan; it covers the digest of each change, and its step.

    - `target`: the identity of the cluster; `identity`: the user that the requests impersonate.
    - `policy_version` and `policy_digest`: names and content of the policies.
    - `review`: the review of the plan, so that no digest shows that two reviews have equal plans.
    - `decisions`: the resolutions in the plan, as JSON.
    - `effects`: the digests of the changes in their order, under the same key, where they are known.
    """
    if effects is None:
        effects = [digest_effect(change, key=key) for change in plan.changes]
    return digest_json(
        {
            "target": target,
            "identity": identity,
            "options": options_to_json(plan.options),
            "policyVersion": policy_version,
            "policyDigest": policy_digest,
            "review": review,
            "decisions": decisions,
            "objects": [[c.step, found] for c, found in zip(plan.changes, effects, strict=True)],
        },
        key=key,
    )
