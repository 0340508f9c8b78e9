"""Verify one segment of the history, so that several processes can verify a long history in parallel.

What one entry says is checked here; what stands before the stretch is only written down: where each chain must
stand for the stretch to follow. Whoever holds the stretches together (`chain.py`) compares. Where anything does not
fit, the stretch is read again entry by entry, which finds the first bad one and its reason.
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
# How many stretches wait for each process: enough that none idles, few enough that memory stays as it is.
_AHEAD = 2
_TIES = frozenset((AuditAction.HISTORY_ANCHORED.value, AuditAction.RUN_FINISHED.value))
_STARTED = AuditAction.RUN_STARTED.value
Bounds: TypeAlias = Iterable[tuple[int, int]]


@dataclass(slots=True)
class Segment:
    """What one stretch says; `is_clean` False: it must be read entry by entry.

    - `needs` is where chains must stand before it, `stands` where those with entries in it stand behind it.
    - `starts` are hashes of the starts of runs, `removed` counts bodies by the entry that tells of their removal.
    """

    first: int
    last: int
    entries: int = 0
    is_clean: bool = True
    needs: dict[int, ChainPosition] = field(default_factory=dict)
    stands: dict[int, ChainPosition] = field(default_factory=dict)
    starts: dict[int, str] = field(default_factory=dict)
    removed: dict[int, int] = field(default_factory=dict)

    def _stands_at(self, chain: int, stand: ChainPosition) -> bool:
        """Return whether a chain has this hash now, as far as this segment knows."""
        return (self.stands.get(chain) or self.needs.setdefault(chain, stand)) == stand

    def add(self, row: StoredRow, published: ChainPosition | None) -> bool:
        """Take the next entry; False when something does not fit."""
        if find_content_fault(row) or not self._stands_at(row.chain, (row.sequence - 1, row.previous_hash)):
            return False
        if row.chain == GLOBAL and not self._holds_promises(row, published):
            return False
        self.stands[row.chain] = (row.sequence, row.hash)
        if row.action == _STARTED and row.run is not None:
            self.starts.setdefault(row.run, row.hash)
        if row.pruned_by is not None:
            self.removed[row.pruned_by] = self.removed.get(row.pruned_by, 0) + 1
        self.entries += 1
        return True

    def _holds_promises(self, row: StoredRow, published: ChainPosition | None) -> bool:
        if published is not None and row.sequence == published[0] and row.hash != published[1]:
            return False
        if row.action not in _TIES:
            return True
        heads = find_chain_positions(row)
        return heads is not None and all(self._stands_at(chain, stand) for chain, stand in heads.items())


def check(rows: Iterable[StoredRow], first: int, last: int, published: ChainPosition | None = None) -> Segment:
    """Check a stretch; the first thing that does not fit ends it."""
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
    """Check stretch by stretch, in this process."""
    return (check_between(first, last, published) for first, last in bounds)


def check_side_by_side(bounds: Bounds, published: ChainPosition | None, processes: int) -> Iterator[Segment]:
    """Check several stretches at once, each process with its own connection; they come in their order.

    - Only what is committed is seen. Processes are started afresh: a fork would share this one's connection.
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
