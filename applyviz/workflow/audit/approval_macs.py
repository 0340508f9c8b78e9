"""MACs of approvals, emergency applies and scheduled starts: a row inserted past the use cases does not count.

A MAC covers the plan, its digest, the person, the time and the hash of the audit entry, under `APPLYVIZ_APPROVAL_KEY`.
Web processes and workers hold that key; the database does not. Out of scope: an attacker who controls a web process.
"""

from __future__ import annotations

import hmac
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Exists, OuterRef, QuerySet
from msgspec import Struct

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import ApplyRun, Approval, AuditEntry, EmergencyApply, RenewedMac, ScheduledStart
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import renewed_macs

_ACTIONS = {
    Approval: AuditAction.APPROVAL_GIVEN,
    EmergencyApply: AuditAction.EMERGENCY_APPLIED,
    ScheduledStart: AuditAction.START_SCHEDULED,
}
ApprovalRow = Approval | EmergencyApply | ScheduledStart
_Row = TypeVar("_Row", bound=ApprovalRow)


def _render(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="microseconds") if moment else None


def _list_words(row: ApprovalRow) -> list[JSONValue]:
    if isinstance(row, Approval):
        return [row.is_sole, row.note]
    return [row.reason, row.ticket, row.missing, row.policy_version] if isinstance(row, EmergencyApply) else []


def _make(row: ApprovalRow, key: str) -> str:
    entry = row.entry
    if entry is None:
        return ""  # the MAC of no row
    covered: list[JSONValue] = [
        _ACTIONS[type(row)].value,
        row.plan_id,
        row.digest,
        row.by_id,
        row.by_name,
        _render(row.created_at),
        None if isinstance(row, EmergencyApply) else _render(row.expires_at),
        *_list_words(row),
        *([_render(row.not_before), row.waits_for_rollout] if isinstance(row, ScheduledStart) else []),
        entry.pk,
        entry.hash,
    ]
    return hmac.digest(key.encode(), f"applyviz approval {canonical_json(covered)}".encode(), "sha256").hex()


def vouch(row: ApprovalRow, entry: AuditEntry) -> None:
    """Set the audit entry and the MAC of an approval, emergency apply or scheduled start before it is stored."""
    if not settings.APPLYVIZ_APPROVAL_KEY:
        raise ImproperlyConfigured("APPLYVIZ_APPROVAL_KEY: it is not set here; web processes and workers hold it")
    row.entry = entry
    row.mac = _make(row, settings.APPLYVIZ_APPROVAL_KEY)


def list_faults(rows: Iterable[_Row]) -> Iterator[tuple[_Row, str]]:
    """Yield each approval, emergency apply or scheduled start with why it is not genuine, "" when it is."""
    for row, is_made in renewed_macs.check_macs(rows, _make):
        entry = row.entry
        if entry is None or not row.mac:
            yield row, "no audit entry records it"
        elif (entry.action, entry.actor_id, entry.plan_digest) != (_ACTIONS[type(row)], row.by_id, row.digest):
            yield row, "its audit entry records something else"
        else:
            yield row, "" if is_made else "it was not made by this installation"


def find_fault(row: ApprovalRow) -> str:
    """Return why an approval, emergency apply or scheduled start is not genuine; "" when it is."""
    return next(fault for _, fault in list_faults([row]))


def list_renewals(rows: Sequence[ApprovalRow]) -> list[RenewedMac]:
    """Return the MACs under the current key that genuine rows of one model still need, not yet stored."""
    return renewed_macs.list_renewals(rows, _make)


Revocations: TypeAlias = Mapping[tuple[int | None, str, int | None], Sequence[tuple[int, int]]]
"""The position and sequence of each entry that ended something, by review, digest, and person or plan."""


def read_revocations(action: AuditAction) -> Revocations:
    """Read every revocation of an approval, or cancellation of a scheduled start, to look many rows up."""
    whose = "actor" if action == AuditAction.APPROVAL_REVOKED else "plan"
    found: dict[tuple[int | None, str, int | None], list[tuple[int, int]]] = defaultdict(list)
    for *named, pk, sequence in list_entries(action).values_list("review", "plan_digest", whose, "pk", "sequence"):
        found[named[0], named[1], named[2]].append((pk, sequence))
    return found


def find_revocation(row: Approval | ScheduledStart, known: Revocations | None = None) -> str:
    """Return which entry of the audit log revoked an approval, or canceled a scheduled start; "" for none.

    - If somebody restores an earlier state of the row in the database, its MAC is valid: the audit log shows its end.
    - `known`: all of them, if many rows are looked up.
    """
    entry = row.entry
    if entry is None:
        return ""
    whose = row.by_id if isinstance(row, Approval) else entry.plan
    if known is not None:
        ends = known.get((entry.review, row.digest, whose), ())
        at = bisect_right(ends, (entry.pk, math.inf))
        sequence = ends[at][1] if at < len(ends) else None
    else:
        action = AuditAction.APPROVAL_REVOKED if isinstance(row, Approval) else AuditAction.START_CANCELED
        person = {"actor": whose} if isinstance(row, Approval) else {"plan": whose}
        same = list_entries(action).filter(review=entry.review, plan_digest=row.digest, pk__gt=entry.pk, **person)
        sequence = same.values_list("sequence", flat=True).first()
    return f"audit entry {sequence} ended it" if sequence is not None else ""


def drop_ended(rows: QuerySet[Approval]) -> QuerySet[Approval]:
    """Leave out approvals that the audit log says were revoked, or that a run of their digest was started with."""
    of_digest = {"review": OuterRef("entry__review"), "plan_digest": OuterRef("digest"), "pk__gt": OuterRef("entry")}
    revoked = AuditEntry.objects.filter(action=AuditAction.APPROVAL_REVOKED, actor=OuterRef("by"), **of_digest)
    runs = ApplyRun.objects.filter(plan__review=OuterRef("plan__review"), plan__digest=OuterRef("digest"), needed__gt=0)
    return rows.exclude(Exists(revoked)).exclude(Exists(runs.filter(created_at__gte=OuterRef("created_at"))))


def keep_genuine(rows: Iterable[Approval]) -> list[Approval]:
    """Return the approvals that this installation made."""
    return [row for row, fault in list_faults(rows) if not fault]


class Forged(Struct, frozen=True):
    """An approval, emergency apply or scheduled start that this installation did not make."""

    what: str
    number: int
    by: str
    review: int
    plan: int
    fault: str

    def __str__(self) -> str:
        return f"{self.what} {self.number} by {self.by} of plan {self.plan} of review {self.review}: {self.fault}"


class MACResult(Struct, frozen=True):
    """The number of approvals and emergency applies, and the forged ones among them."""

    approvals: int
    emergencies: int
    forged: tuple[Forged, ...]


def _list_forged(what: str, rows: Iterable[ApprovalRow]) -> Iterator[Forged]:
    for row, fault in list_faults(rows):
        if fault:
            yield Forged(what, row.pk, row.by_name, row.plan.review.number, row.plan.number, fault)


def list_rows() -> Iterator[tuple[str, QuerySet[ApprovalRow]]]:
    """Yield the rows of each model whose MAC is checked here, with what a row is called, by primary key."""
    models: tuple[tuple[str, type[ApprovalRow]], ...] = (
        ("approval", Approval),
        ("emergency apply", EmergencyApply),
        ("scheduled start", ScheduledStart),
    )
    for what, model in models:
        yield what, model._default_manager.select_related("entry", "plan__review").order_by("pk")


def check_all() -> MACResult:
    """Check the MAC of every stored approval, emergency apply and scheduled start."""
    forged = (one for what, rows in list_rows() for one in _list_forged(what, rows.iterator(chunk_size=2_000)))
    return MACResult(Approval.objects.count(), EmergencyApply.objects.count(), tuple(forged))
