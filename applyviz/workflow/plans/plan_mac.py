"""The MAC of a plan: a keyed hash over every stored byte that a run uses, computed when the plan is complete.

It covers what the planner had in memory, never rows that were read back, and is stored with the plan; of the content of
a row it covers a digest, so that a planner keeps no content. An attacker who bypasses the database's triggers cannot
compute it: the key is not in the database. A matching MAC proves that nothing changed since. Without a matching one,
everything is derived again (`runs/plan_integrity.py`), except risks: the whole set adds some after a change was
sealed, so they have a MAC of their own, which does not cover encrypted bytes and fits after a rotation of keys too.
So does what pages say of the whole plan (counts, problems, missing permissions, overview, graph, owners): it is not
derived again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from msgspec import Struct

from applyviz.engine.objects.json_text import write_sorted
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.keyed_hashes import is_same
from applyviz.records.models import ObjectChange, Plan, PlanDetails
from applyviz.workflow.foundation import digests

_OF_A_PLAN = (
    "id",
    "digest",
    "digest_key_id",
    "identity",
    "account",
    "options",
    "decisions",
    "masking",
    "policy_version",
    "policy_digest",
    "review_id",
    "cluster_uid",
)
_CONTENT = ("sealed", "document", "found_risks")
_OF_A_CHANGE = tuple(f.attname for f in ObjectChange._meta.concrete_fields if f.name not in _CONTENT)


def hash_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def hash_document(row: ObjectChange) -> str:
    """Return the hash of the masked document that a row has in memory."""
    return hash_bytes(write_sorted(row.document))


def hash_risks(row: ObjectChange) -> str:
    """Return the hash of the masked risks that a row has in memory, and of the columns that follow from them."""
    found: list[JSONValue] = [row.found_risks, row.risks, row.highest_risk, row.risk_levels]
    return hash_bytes(write_sorted(found))


class ContentDigest(Struct, frozen=True):
    """The hashes of the content of one row: its encrypted bytes, its masked document, and its risks."""

    sealed: str
    document: str
    risks: str

    @classmethod
    def of(cls, row: ObjectChange) -> ContentDigest:
        """Return the digest of the content that a row has in memory."""
        return cls(hash_bytes(row.sealed.token), hash_document(row), hash_risks(row))


def _begin(purpose: bytes) -> hmac.HMAC:
    """Begin a MAC with a key for its purpose only, so that no other digest of this installation can pass for it."""
    return hmac.new(hmac.digest(digests.digest_key(), purpose, "sha256"), digestmod=hashlib.sha256)


def make_seal(plan: Plan, rows: Iterable[tuple[ObjectChange, ContentDigest]]) -> str:
    """Return the hexadecimal MAC of a plan and all its changes, in the order of their positions.

    - Covers digest, target, identity, options, resolutions, policies and tag key of the plan, and every column of each
      change: the masked document, the encrypted bytes, what is sent, step and position.
    """
    found = _begin(b"applyviz seal of a stored plan")

    def add(value: JSONValue) -> None:
        found.update(canonical_json(value).encode() + b"\n")

    add([hash_bytes(plan.tag_key.token), *(getattr(plan, name) for name in _OF_A_PLAN)])
    for row, content in rows:
        add([content.sealed, content.document, content.risks, *(getattr(row, name) for name in _OF_A_CHANGE)])
    return found.hexdigest()


def fits(plan: Plan, rows: Iterable[tuple[ObjectChange, ContentDigest]]) -> bool:
    """Return whether the MAC of a plan matches what is stored now; False when it has none."""
    return is_same(make_seal(plan, rows), plan.seal)


def make_risk_seal(plan: Plan, rows: Iterable[tuple[ObjectChange, str]]) -> str:
    """Return the hexadecimal MAC of the risks of a plan; of each change the row and `hash_risks`, by positions."""
    found = _begin(b"applyviz seal of the risks of a stored plan")
    found.update(canonical_json([plan.pk, plan.digest]).encode() + b"\n")
    for row, risks in rows:
        found.update(canonical_json([row.position, row.effect, risks]).encode() + b"\n")
    return found.hexdigest()


def risks_fit(plan: Plan, rows: Iterable[tuple[ObjectChange, str]]) -> bool:
    """Return whether the MAC of the risks of a plan matches what is stored now; False when it has none."""
    return is_same(make_risk_seal(plan, rows), plan.risk_seal)


_OF_A_SUMMARY = ("id", "digest", "counts", "compared", "problems", "denied")
_OF_DETAILS = ("impact", "overview", "quotas", "staying", "forecast")


def make_summary_seal(plan: Plan, details: PlanDetails) -> str:
    """Return the hexadecimal MAC of the summary of a plan: its counts, problems and details."""
    found = _begin(b"applyviz seal of the summary of a stored plan")
    shown = [getattr(plan, name) for name in _OF_A_SUMMARY] + [getattr(details, name) for name in _OF_DETAILS]
    packed = [hash_bytes(bytes(one)) for one in (details.graph, details.owners)]
    found.update(write_sorted([*shown, *packed]))
    return found.hexdigest()


def summary_fits(plan: Plan, details: PlanDetails) -> bool:
    """Return whether the MAC of the summary of a plan matches what is stored now; False if it has none."""
    return is_same(make_summary_seal(plan, details), plan.summary_seal)
