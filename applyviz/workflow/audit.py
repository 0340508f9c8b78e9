"""The history that can be trusted: entries are only added, and each one's hash covers the one before.

`record` is called inside the transaction of the row it tells of, before any side effect. The hash is
sha256 over the previous hash and the entry as canonical JSON; `workflow/chain.py` verifies it.
Detail holds masked text only; it is the caller's duty to give nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.db import transaction
from django.utils import timezone

from applyviz import request_ids
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, AuditHead
from applyviz.workflow.access import Person

SYSTEM = "applyviz"
GENESIS = "0" * 64
_HASHED = (
    "sequence", "action", "actor_id", "actor_name", "request_id", "cluster", "review", "plan", "run", "group", "kind",
    "namespace", "name", "field_manager", "plan_digest", "detail",
)  # fmt: skip
STORED = (*_HASHED, "at", "previous_hash", "hash")


@dataclass(frozen=True, slots=True)
class Subject:
    """What an entry is about: slug of the cluster, numbers of review, plan and run, object, digest."""

    cluster: str = ""
    review: int | None = None
    plan: int | None = None
    run: int | None = None
    ref: ObjectRef | None = None
    field_manager: str = ""
    plan_digest: str = ""


def canonical_entry(row: Mapping[str, Any]) -> dict[str, JSONValue]:
    """A stored entry (`STORED`) as the hash covers it, and as exports write it."""
    return {name: row[name] for name in _HASHED} | {"at": row["at"].astimezone(UTC).isoformat(timespec="microseconds")}


def hash_entry(row: Mapping[str, Any]) -> str:
    """The hash that an entry with this content has."""
    text = row["previous_hash"] + canonical_json(canonical_entry(row))
    return hashlib.sha256(text.encode()).hexdigest()


def _object_columns(ref: ObjectRef | None) -> dict[str, str]:
    if ref is None:
        return {}
    return {"group": ref.gvk.group, "kind": ref.gvk.kind, "namespace": ref.namespace, "name": ref.name}


def record(
    action: AuditAction, *, by: Person | None, about: Subject, detail: Mapping[str, Any] | None = None
) -> AuditEntry:
    """Add one entry; it becomes part of the surrounding transaction.

    - `by` None means that applyviz itself acted (a worker).
    - The head row is locked until that transaction ends, so that the chain has one order.
    """
    with transaction.atomic():
        AuditHead.objects.get_or_create(id=1)
        head = AuditHead.objects.select_for_update().get(id=1)
        entry = AuditEntry(
            sequence=head.sequence + 1,
            at=timezone.now(),
            action=action.value,
            actor=by,
            actor_name=by.get_username() if by else SYSTEM,
            request_id=request_ids.current.get(),
            cluster=about.cluster,
            review=about.review,
            plan=about.plan,
            run=about.run,
            field_manager=about.field_manager,
            plan_digest=about.plan_digest,
            detail=dict(detail or {}),
            previous_hash=head.hash,
            **_object_columns(about.ref),
        )
        entry.hash = hash_entry({name: getattr(entry, name) for name in STORED[:-1]})
        entry.save(force_insert=True)
        AuditHead.objects.filter(id=1).update(sequence=entry.sequence, hash=entry.hash)
    return entry
