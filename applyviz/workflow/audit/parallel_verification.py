"""Verify one segment of the audit trail, so that several processes can verify a long trail in parallel.

A segment checks the content of its entries and notes the positions that its chains must have before it. The caller
(`chain.py`) compares those with the previous segments. Where anything does not fit, the caller reads the segment again
entry by entry and finds the first bad entry and its reason.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import django

from applyviz.records.enums import AuditAction
from applyviz.workflow.audit.stored_rows import (
    ChainPosition,
    StoredRow,
    find_chain_positions,
    find_content_fault,
    read_between,
)

GLOBAL = 0
# Segments queued per process: enough that none idles, few enough to bound memory.
_AHEAD = 2
ANCHORS = frozenset((AuditAction.HISTORY_ANCHORED.value, AuditAction.RUN_FINISHED.value))
_STARTED = AuditAction.RUN_STARTED.value
Bounds: TypeAlias = Iterable[tuple[int, int]]


@dataclass(slots=True)
class Segment:
    """The result of one segment; with `is_clean` False it must be read entry by entry.

    - `needs` holds the chain positions required before it, `stands` the positions after it.
    - `starts` are hashes of the starts of runs, `removed` counts bodies by the entry that records their removal.
    """

    first: int
    last: int
    entries: int = 0
    is_clean: bool = True
    needs: dict[int, ChainPosition] = field(default_factory=dict)
    positions: dict[int, ChainPosition] = field(default_factory=dict)
    starts: dict[int, str] = field(default_factory=dict)
    removed: dict[int, int] = field(default_factory=dict)

    def _is_at(self, chain: int, position: ChainPosition) -> bool:
        """Return whether a chain has this position now, as far as this segment knows."""
        return (self.positions.get(chain) or self.needs.setdefault(chain, position)) == position

    def add(self, row: StoredRow, published: ChainPosition | None) -> bool:
        """Take the next entry; return False when it does not fit."""
        if find_content_fault(row) or not self._is_at(row.chain, (row.sequence - 1, row.previous_hash)):
            return False
        if row.chain == GLOBAL and not self._matches_anchors(row, published):
            return False
        self.positions[row.chain] = (row.sequence, row.hash)
        if row.action == _STARTED and row.run is not None:
            self.starts.setdefault(row.run, row.hash)
        if row.pruned_by is not None:
            self.removed[row.pruned_by] = self.removed.get(row.pruned_by, 0) + 1
        self.entries += 1
        return True

    def _matches_anchors(self, row: StoredRow, published: ChainPosition | None) -> bool:
        if published is not None and row.sequence == published[0] and row.hash != published[1]:
            return False
        if row.action not in ANCHORS:
            return True
        ends = find_chain_positions(row)
        return ends is not None and all(self._is_at(chain, position) for chain, position in ends.items())


def check(rows: Iterable[StoredRow], first: int, last: int, published: ChainPosition | None = None) -> Segment:
    """Check a segment; stop at the first entry that does not fit."""
    segment = Segment(first, last)
    for row in rows:
        if not segment.add(row, published):
            segment.is_clean = False
            break
    return segment


def check_between(first: int, last: int, published: ChainPosition | None = None) -> Segment:
    """Check the entries with these numbers."""
    return check(read_between(first, last), first, last, published)


def check_in_turn(bounds: Bounds, published: ChainPosition | None) -> Iterator[Segment]:
    """Check segment by segment in this process."""
    return (check_between(first, last, published) for first, last in bounds)


def check_side_by_side(bounds: Bounds, published: ChainPosition | None, processes: int) -> Iterator[Segment]:
    """Check several segments in parallel, each process with its own connection; yield them in order.

    - Only committed entries are seen. Processes are spawned: a fork would share the connection.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=django.setup)
    waiting: deque[Future[Segment]] = deque()
    try:
        for first, last in bounds:
            waiting.append(pool.submit(check_between, first, last, published))
            if len(waiting) > processes * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
