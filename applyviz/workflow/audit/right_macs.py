"""Verification of rows that decide: every one is genuine, and of rights none is missing or lives after its end.

Rule: the audit log records each row when it is made and when it ends (`detail.grant`, `detail.member`), and the chain
proves the log. So a row without its entry, an entry without its row, and an end that the row lost are all found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from applyviz.records.enums import AuditAction
from applyviz.records.models import Acknowledgment, AuditEntry, Grant, RetentionPolicy, TeamMember
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.row_macs import RightRow, VouchedRow


@dataclass(frozen=True, slots=True)
class BadRight:
    """A row that this installation did not make, or that the audit log does not confirm."""

    what: str
    number: int
    about: str
    fault: str

    def __str__(self) -> str:
        return f"{self.what} {self.number} ({self.about}): {self.fault}"


def _list_forged(what: str, rows: Iterable[VouchedRow]) -> Iterator[BadRight]:
    for row in rows:
        fault = row_macs.find_fault(row)
        if fault:
            yield BadRight(what, row.pk, str(row), fault)


def _list_ended(name: str, action: AuditAction) -> dict[int, int]:
    """Return the rows whose end is recorded, each with the sequence of the entry."""
    entries = AuditEntry.objects.filter(action=action, detail__has_key=name)
    return {detail[name]: sequence for detail, sequence in entries.values_list("detail", "sequence")}


def _list_revived(what: str, model: type[RightRow], action: AuditAction) -> Iterator[BadRight]:
    ended = _list_ended(what, action)
    rows = model._default_manager.in_bulk(ended)
    for number, sequence in ended.items():
        if number not in rows:
            yield BadRight(what, number, f"audit entry {sequence} ended it", "it is missing")
        elif rows[number].ended_at is None:
            yield BadRight(what, number, str(rows[number]), f"audit entry {sequence} ended it")


def _list_missing() -> Iterator[BadRight]:
    """Yield what was granted and has no row; a body that retention removed no longer says who joined a team."""
    granted = AuditEntry.objects.filter(action=AuditAction.ROLE_GRANTED)
    for entry in granted.exclude(pk__in=Grant.objects.exclude(entry=None).values("entry")):
        to = str(entry.detail.get("to", "")) if entry.detail else ""
        yield BadRight("grant of audit entry", entry.sequence, to, "it is missing")
    joined = AuditEntry.objects.filter(action=AuditAction.TEAM_CHANGED, detail__has_key="joined")
    for entry in joined.exclude(pk__in=TeamMember.objects.exclude(entry=None).values("entry")):
        yield BadRight("membership of audit entry", entry.sequence, str(entry.detail["joined"]), "it is missing")


def check_rights() -> tuple[BadRight, ...]:
    """Return every row that is forged, and every right that is missing or was revived."""
    grants = Grant.objects.select_related("entry").order_by("pk")
    members = TeamMember.objects.select_related("entry").order_by("pk")
    return (
        *_list_forged("grant", grants.iterator(chunk_size=2_000)),
        *_list_forged("membership", members.iterator(chunk_size=2_000)),
        *_list_forged("acknowledgment", Acknowledgment.objects.order_by("pk").iterator(chunk_size=2_000)),
        *_list_forged("retention policy", RetentionPolicy.objects.order_by("pk")),
        *_list_revived("grant", Grant, AuditAction.ROLE_ENDED),
        *_list_revived("member", TeamMember, AuditAction.TEAM_CHANGED),
        *_list_missing(),
    )
