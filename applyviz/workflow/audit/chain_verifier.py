"""The position of each chain during a verification, and why an entry cannot be the next one.

The verifier takes whole segments that were checked separately; where a segment does not fit, it takes entry by entry.
Its memory is bounded: the position of a forgotten chain is read again from the database.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit.parallel_verification import ANCHORS, Segment
from applyviz.workflow.audit.stored_rows import (
    ChainPosition,
    StoredRow,
    find_chain_positions,
    find_content_fault,
    read_between,
    read_late,
)
from applyviz.workflow.audit.trail import GENESIS, GLOBAL, find_start

MOST_KEPT = 50_000


class BadEntry(Struct, frozen=True):
    """The first fault: its sequence in the chain and the entry number that pages show (None: no such row)."""

    chain: int
    sequence: int
    reason: str
    number: int | None = None

    def __str__(self) -> str:
        where = f"entry {self.sequence} of the chain of run {self.chain}" if self.chain else f"entry {self.sequence}"
        return f"{where} is bad: {self.reason}"


def _forget(kept: dict[int, ChainPosition] | dict[int, str]) -> None:
    """Drop the half that was used the longest ago."""
    for chain in list(kept)[: len(kept) // 2]:
        del kept[chain]


class ChainVerifier:
    """Verify entries after entry `last`; `published` is a position of the global chain that must match.

    - `entries` counts the entries taken, `runs` the chains that began among them.
    """

    def __init__(self, after: int, published: ChainPosition | None) -> None:
        self.last, self.published = after, published
        self.entries = 0
        self.runs = 0
        self.removed: dict[int, int] = {}
        self._positions: dict[int, ChainPosition] = {}
        self._starts: dict[int, str] = {}
        self._has_earlier = after > 0

    def position(self, chain: int) -> ChainPosition:
        """Return sequence and hash of the last entry that was read of a chain, in this slice or an earlier one."""
        if chain not in self._positions:
            row = None
            if self._has_earlier:
                earlier = AuditEntry.objects.filter(chain=chain, id__lte=self.last).order_by("-sequence")
                row = earlier.values_list("sequence", "hash").first()
            self._positions[chain] = row or (0, self._find_start(chain))
        return self._positions[chain]

    def _find_start(self, chain: int) -> str:
        return (self._starts.get(chain) or find_start(chain)) if chain else GENESIS

    def take_segment(self, segment: Segment) -> bool:
        """Take a whole segment; return False, with nothing taken, when it does not fit."""
        if not segment.is_clean:
            return False
        for run, hashed in segment.starts.items():
            self._starts.setdefault(run, hashed)
        if any(self.position(chain) != position for chain, position in segment.needs.items()):
            return False
        for chain, position in segment.positions.items():
            self._move(chain, position, is_new=segment.needs[chain][0] == 0)
        for recorded_by, count in segment.removed.items():
            self.removed[recorded_by] = self.removed.get(recorded_by, 0) + count
        self.entries, self.last = self.entries + segment.entries, segment.last
        self._bound_memory()
        return True

    def take_each(self, first: int, last: int) -> BadEntry | None:
        """Take a segment entry by entry; stop at the first bad entry and return it."""
        return self._take_rows(read_between(first, last), last)

    def _take_rows(self, rows: Iterable[StoredRow], last: int) -> BadEntry | None:
        for row in rows:
            bad = self._find_fault(row)
            if bad is not None:
                return bad
            self._take(row)
            self.entries, self.last = self.entries + 1, row.id
        self.last = last
        self._bound_memory()
        return None

    def _move(self, chain: int, position: ChainPosition, *, is_new: bool) -> None:
        self._positions.pop(chain, None)  # those that moved last are remembered the longest
        self._positions[chain] = position
        self.runs += is_new and chain != GLOBAL

    def _bound_memory(self) -> None:
        if len(self._positions) > MOST_KEPT:
            _forget(self._positions)
            self._has_earlier = True
        if len(self._starts) > MOST_KEPT:
            _forget(self._starts)

    def _find_fault(self, row: StoredRow) -> BadEntry | None:
        bad = self._read_late_entries(row.chain, row.sequence - 1, row.id)
        if bad is not None:
            return bad
        sequence, before = self.position(row.chain)
        if row.sequence != sequence + 1:
            return BadEntry(row.chain, sequence + 1, "it is missing")
        if row.previous_hash != before:
            reason = "it does not follow the entry before it"
        else:
            reason = find_content_fault(row) or self._find_anchor_fault(row)
        return BadEntry(row.chain, row.sequence, reason, row.id) if reason else None

    def _read_late_entries(self, chain: int, until: int, number: int) -> BadEntry | None:
        """Read entries that a long transaction committed only after the walk had passed their numbers."""
        sequence = self.position(chain)[0]
        if sequence >= until:
            return None
        for row in read_late(chain, sequence, until, number):
            if row.sequence != self.position(chain)[0] + 1:
                break
            bad = self._find_fault(row)
            if bad is not None:
                return bad
            self._take(row)
        return None

    def _find_anchor_fault(self, row: StoredRow) -> str:
        """Return why the published checkpoint or an anchor does not match; "" when both do."""
        if row.chain != GLOBAL:
            return ""
        if self.published is not None and row.sequence == self.published[0]:
            return "" if row.hash == self.published[1] else "it is not the published checkpoint"
        heads = find_chain_positions(row) if row.action in ANCHORS else {}
        if heads is None:
            return "its anchors cannot be read"
        for chain, head in heads.items():
            self._read_late_entries(chain, head[0], row.id)
            if self.position(chain) != head:
                return f"it anchors {head[0]} entries of run {chain}, which are missing or changed"
        return ""

    def _take(self, row: StoredRow) -> None:
        self._move(row.chain, (row.sequence, row.hash), is_new=row.sequence == 1)
        if row.action == AuditAction.RUN_STARTED and row.run is not None:
            self._starts.setdefault(row.run, row.hash)
        if row.pruned_by is not None:
            self.removed[row.pruned_by] = self.removed.get(row.pruned_by, 0) + 1
