"""Is the history what was written? Walks the hash chain and names the first bad entry.

An entry is bad when it is missing, does not follow the one before it, or does not have the content that its hash
covers; the row of the head and a head that was published earlier tell whether entries at the end are missing.
Whoever can rewrite the whole table and its head is only found out by a published head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from applyviz.records.models import AuditEntry, AuditHead
from applyviz.workflow.audit import GENESIS, STORED, hash_entry
from applyviz.workflow.errors import NotValidError

_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Head:
    """One end of the chain, as it is published: `sequence:hash`."""

    sequence: int = 0
    hash: str = GENESIS
    at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `sequence:hash`; raises `NotValidError`."""
        found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
        if found is None:
            raise NotValidError(f"a published head is written sequence:hash, not {text!r}")
        return cls(int(found[1]), found[2])


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verification found: entries up to the last good one, its hash, and the first bad entry with the reason.

    `is_finished` says whether the end was reached; a walk with a limit may stop before it.
    """

    entries: int
    head: str
    bad_sequence: int | None = None
    reason: str = ""
    is_finished: bool = True

    @property
    def is_intact(self) -> bool:
        """Whether every entry that was read is as it was written."""
        return self.bad_sequence is None


def find_head() -> Head:
    """The end of the chain now."""
    row = AuditHead.objects.filter(id=1).first()
    if row is None or row.sequence == 0:
        return Head()
    at = AuditEntry.objects.filter(sequence=row.sequence).values_list("at", flat=True).first()
    return Head(row.sequence, row.hash, at)


def _read(after: int, limit: int | None) -> Iterator[Mapping[str, Any]]:
    rows = AuditEntry.objects.filter(sequence__gt=after).order_by("sequence").values(*STORED)
    yield from (rows if limit is None else rows[:limit]).iterator(chunk_size=_CHUNK)


def _find_fault(row: Mapping[str, Any], expected: int, head: str) -> str:
    if row["sequence"] != expected:
        return f"entry {expected} is missing"
    if row["previous_hash"] != head:
        return "it does not follow the entry before it"
    return "" if row["hash"] == hash_entry(row) else "its content is not what was written"


def _start_at(after: int) -> ChainReport:
    if not after:
        return ChainReport(0, GENESIS)
    head = AuditEntry.objects.filter(sequence=after).values_list("hash", flat=True).first()
    if head is None:
        return ChainReport(after - 1, "", after, f"entry {after} is missing")
    return ChainReport(after, head)


def _check_end(report: ChainReport, before: Head, published: Head | None) -> ChainReport:
    if report.entries < before.sequence:
        return replace(report, bad_sequence=report.entries + 1, reason="entries at the end are missing")
    now = find_head()
    if report.entries > now.sequence:
        return replace(report, bad_sequence=now.sequence + 1, reason="it stands behind the head of the chain")
    if report.entries == now.sequence and report.head != now.hash:
        return replace(report, bad_sequence=now.sequence, reason="it is not what the head of the chain names")
    if published is not None and report.entries < published.sequence:
        reason = f"entries up to the published head {published.sequence} are missing"
        return replace(report, bad_sequence=report.entries + 1, reason=reason)
    return report


def verify_chain(*, after: int = 0, limit: int | None = None, published: Head | None = None) -> ChainReport:
    """Check the history from behind entry `after` on, its end included; names the first bad entry.

    - `limit` stops after so many entries, so that a page may verify a long history in slices.
    - The head is read before the walk: entries that are added meanwhile are no fault.
    """
    before, report = find_head(), _start_at(after)
    if not report.is_intact:
        return report
    entries, head = report.entries, report.head
    for row in _read(after, limit):
        fault = _find_fault(row, entries + 1, head)
        if fault:
            return ChainReport(entries, head, entries + 1, fault)
        entries, head = entries + 1, row["hash"]
        if published is not None and entries == published.sequence and head != published.hash:
            return ChainReport(entries - 1, row["previous_hash"], entries, "it is not the published head")
    if limit is not None and entries - after == limit:
        return ChainReport(entries, head, is_finished=False)
    return _check_end(ChainReport(entries, head), before, published)
