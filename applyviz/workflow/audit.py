"""The history that can be trusted: entries are only added, and each one's hash covers the one before.

`record` is called inside the transaction of the row it tells of, before any side effect. The hash is
sha256 over the previous hash and the entry as canonical JSON. `verify_chain` names the first bad entry.
Detail holds masked text only; it is the caller's duty to give nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
_GENESIS = "0" * 64
_HASHED = (
    "sequence", "action", "actor_id", "actor_name", "request_id", "cluster", "review", "plan", "run", "group", "kind",
    "namespace", "name", "field_manager", "plan_digest", "detail",
)  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verification found: entries read, the head, and the first bad entry with the reason."""

    entries: int
    head: str
    bad_sequence: int | None = None
    reason: str = ""

    @property
    def is_intact(self) -> bool:
        """Whether every entry is as it was written."""
        return self.bad_sequence is None


@dataclass
class _Chain:
    """The state of a verification that walks the entries in order."""

    entries: int = 0
    head: str = _GENESIS
    expected: int = field(default=1)

    def check(self, entry: AuditEntry) -> str:
        """The reason why an entry is bad, "" when it fits."""
        if entry.sequence != self.expected:
            return f"entry {self.expected} is missing"
        if entry.previous_hash != self.head:
            return "it does not follow the entry before it"
        if entry.hash != _hash_entry(entry):
            return "its content is not what was written"
        self.entries, self.head, self.expected = self.entries + 1, entry.hash, self.expected + 1
        return ""


def _time_text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def canonical_entry(entry: AuditEntry) -> dict[str, JSONValue]:
    """The entry as the hash covers it, and as exports write it."""
    return {name: getattr(entry, name) for name in _HASHED} | {"at": _time_text(entry.at)}


def _hash_entry(entry: AuditEntry) -> str:
    text = entry.previous_hash + canonical_json(canonical_entry(entry))
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
        entry.hash = _hash_entry(entry)
        entry.save(force_insert=True)
        AuditHead.objects.filter(id=1).update(sequence=entry.sequence, hash=entry.hash)
    return entry


def verify_entries(entries: Iterable[AuditEntry]) -> ChainReport:
    """Check entries in ascending order from the first one on."""
    chain = _Chain()
    for entry in entries:
        reason = chain.check(entry)
        if reason:
            return ChainReport(chain.entries, chain.head, chain.expected, reason)
    return ChainReport(chain.entries, chain.head)


def verify_chain() -> ChainReport:
    """Check the whole history, its end included; names the first bad entry."""
    report = verify_entries(AuditEntry.objects.order_by("sequence").iterator(chunk_size=2_000))
    head = AuditHead.objects.filter(id=1).first()
    promised = (head.sequence, head.hash) if head else (0, _GENESIS)
    if report.is_intact and promised != (report.entries, report.head):
        return ChainReport(report.entries, report.head, report.entries + 1, "entries at the end are missing")
    return report
