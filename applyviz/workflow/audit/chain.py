"""Verification of the audit trail: walks the global chain and all run chains, and names the first bad entry.

An entry is bad when it is missing, does not follow the previous one of its chain, or differs from the content that its
hash covers. A body that a retention policy removed leaves its hash and the number of the entry that records the
removal. The stored chain ends, the anchors in the global chain and an earlier published checkpoint reveal entries
missing at the end. Only a published checkpoint reveals a rewrite of the whole trail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from itertools import chain as chain_up
from itertools import islice
from typing import Self

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Sum
from django.utils.translation import gettext as _
from msgspec import Struct, field

from applyviz.engine.objects.structs import replace
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChainEnd
from applyviz.workflow.audit import anchors
from applyviz.workflow.audit.chain_verifier import BadEntry, ChainVerifier
from applyviz.workflow.audit.parallel_verification import Segment, check_in_turn, check_side_by_side
from applyviz.workflow.audit.stored_rows import ChainPosition, cut
from applyviz.workflow.audit.trail import GENESIS, GLOBAL
from applyviz.workflow.foundation.errors import NotValidError

_CHUNK = 10_000


class Checkpoint(Struct, frozen=True):
    """The end of the global chain as published: `sequence:hash`."""

    sequence: int = 0
    hash: str = GENESIS
    at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `sequence:hash`; raises `NotValidError`."""
        found = re.fullmatch(r"([0-9]{1,18}):([0-9a-f]{64})", text.strip())
        if found is None:
            raise NotValidError(_("a published checkpoint has the form sequence:hash, not %(text)r") % {"text": text})
        return cls(int(found[1]), found[2])


class ChainReport(Struct, frozen=True):
    """The result of a verification: the number of valid entries, the last sequence read, and the first bad entry.

    - `head` is the last good hash of the global chain, `runs` the number of run chains that were read.
    - `removed` counts the removed bodies, by the global sequence of the entry that records the removal.
    - `is_finished` is False when a walk with a limit stopped before the end.
    """

    entries: int
    head: str
    last: int = 0
    runs: int = 0
    removed: Mapping[int, int] = field(default_factory=dict)
    bad: BadEntry | None = None
    is_finished: bool = True

    @property
    def is_intact(self) -> bool:
        """Return whether every entry that was read is unchanged."""
        return self.bad is None


def find_checkpoint() -> Checkpoint:
    """Return the current end of the global chain."""
    row = ChainEnd.objects.filter(chain=GLOBAL).first()
    if row is None or row.sequence == 0:
        return Checkpoint()
    at = AuditEntry.objects.filter(chain=GLOBAL, sequence=row.sequence).values_list("at", flat=True).first()
    return Checkpoint(row.sequence, row.hash, at)


def count_entries() -> int:
    """Return the number of entries in all chains, according to the stored chain ends."""
    return ChainEnd.objects.aggregate(all=Sum("sequence"))["all"] or 0


def publish_checkpoint() -> Checkpoint:
    """Anchor all run chains and return the end of the global chain."""
    anchors.anchor_pending()
    return find_checkpoint()


def _find_removal_fault(removed: Mapping[int, int]) -> BadEntry | None:
    """Return whether the history records each removal with the right count."""
    records = AuditEntry.objects.filter(chain=GLOBAL, action=AuditAction.HISTORY_PRUNED, sequence__in=list(removed))
    counts = {sequence: detail.get("entries") for sequence, detail in records.values_list("sequence", "detail")}
    for sequence, count in sorted(removed.items()):
        if counts.get(sequence) != count:
            recorded = counts.get(sequence, "nothing")
            return BadEntry(GLOBAL, sequence, f"{count} removed bodies refer to this entry, which records {recorded}")
    return None


def _find_beyond() -> AuditEntry | None:
    """Return the first entry after the stored end of its chain, or of a chain without a stored end."""
    further = AuditEntry.objects.filter(chain=OuterRef("chain"), sequence__gt=OuterRef("sequence"))
    short = ChainEnd.objects.filter(Exists(further)).order_by("chain").first()
    if short is not None:
        beyond = AuditEntry.objects.filter(chain=short.chain, sequence__gt=short.sequence)
    else:
        beyond = AuditEntry.objects.filter(~Exists(ChainEnd.objects.filter(chain=OuterRef("chain"))))
    return beyond.order_by("chain", "sequence").first()


def _find_end_fault(published: Checkpoint | None) -> BadEntry | None:
    """Return the first chain that does not end where its stored end says."""
    ends = AuditEntry.objects.filter(chain=OuterRef("chain"), sequence=OuterRef("sequence"), hash=OuterRef("hash"))
    lost = ChainEnd.objects.filter(~Exists(ends), sequence__gt=0).order_by("chain").first()
    if lost is not None:
        last = AuditEntry.objects.filter(chain=lost.chain).order_by("-sequence").first()
        if last is None or last.sequence < lost.sequence:
            first = last.sequence + 1 if last else 1
            return BadEntry(lost.chain, first, f"entries up to {lost.sequence}, the end of the chain, are missing")
        return BadEntry(lost.chain, last.sequence, "it differs from the recorded end of the chain", last.pk)
    beyond = _find_beyond()
    if beyond is not None:
        return BadEntry(beyond.chain, beyond.sequence, "it comes after the recorded end of its chain", beyond.pk)
    last_sequence = find_checkpoint().sequence
    if published is not None and last_sequence < published.sequence:
        reason = f"entries up to the published checkpoint {published.sequence} are missing"
        return BadEntry(GLOBAL, last_sequence + 1, reason)
    return None


def _check_end(report: ChainReport, published: Checkpoint | None) -> ChainReport:
    bad = _find_end_fault(published)
    pruned = AuditEntry.objects.filter(pruned_by__isnull=False).order_by()
    removed = dict(pruned.values_list("pruned_by").annotate(count=Count("id")))
    return replace(report, bad=bad or _find_removal_fault(removed), removed=removed)


def _check(
    bounds: Iterator[tuple[int, int]], published: ChainPosition | None, processes: int
) -> Generator[Segment, None, None]:
    """Check the segments, in several processes when there are enough of them."""
    first = list(islice(bounds, processes + 1))
    rest = chain_up(first, bounds)
    # Other processes see only what is committed.
    if processes > 1 and len(first) > processes and not connection.in_atomic_block:
        yield from check_side_by_side(rest, published, processes)
    else:
        yield from check_in_turn(rest, published)


def verify_chain(
    *,
    after: int = 0,
    limit: int | None = None,
    published: Checkpoint | None = None,
    processes: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> ChainReport:
    """Verify the trail after entry number `after`, its end included; report the first bad entry.

    - `limit` stops after that many entries, so that a page can verify a long trail in slices.
    - `on_progress` receives the number of entries of this call after each segment.
    - `processes` verify a long trail in parallel; not for a process that has threads or children.
    """
    position = (published.sequence, published.hash) if published else None
    walk = ChainVerifier(after, position)
    with closing(_check(cut(after, _CHUNK, limit), position, processes)) as segments:
        for segment in segments:
            bad = None if walk.take_segment(segment) else walk.take_each(segment.first, segment.last)
            if bad is not None:
                return _report(walk, bad)
            if on_progress is not None:
                on_progress(walk.entries)
    is_finished = limit is None or walk.entries < limit
    report = replace(_report(walk, None), is_finished=is_finished)
    return _check_end(report, published) if is_finished else report


def _report(walk: ChainVerifier, bad: BadEntry | None) -> ChainReport:
    return ChainReport(walk.entries, walk.position(GLOBAL)[1], walk.last, walk.runs, dict(walk.removed), bad)
