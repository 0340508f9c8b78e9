"""The waits of the check of all effects: a cancellation or the end of the worker cuts them short.

The run has written nothing yet, so the check can end without the answers that are still on their way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from applyviz.workflow.foundation.leases import LeaseRenewer
from applyviz.workflow.runs.lease import Claim

_LOOK_SECONDS = 0.25
T = TypeVar("T")
R = TypeVar("R")


class CanceledError(Exception):
    """A person canceled the run before anything was written."""


class CheckWatch:
    """Ends the check of a run by an exception when the lease is lost, the worker must stop, or the run is canceled."""

    def __init__(self, claim: Claim, renewer: LeaseRenewer) -> None:
        self._claim, self._renewer = claim, renewer
        self._due = time.monotonic() + _LOOK_SECONDS

    def check(self) -> None:
        """Raise when the check must end; whether the run was canceled is asked some times per second at most."""
        self._renewer.check()
        if time.monotonic() < self._due:
            return
        with self._renewer.uninterrupted():
            is_canceled = self._claim.is_canceled()
        if is_canceled:
            raise CanceledError
        self._due = time.monotonic() + _LOOK_SECONDS

    def each(self, found: Iterator[T]) -> Iterator[T]:
        """Yield the items of an iterator, each calculated in an interruptible block."""
        for item in self._renewer.each(found):
            self.check()
            yield item

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleep in short naps."""
        for _ in range(round(seconds / _LOOK_SECONDS)):
            sleep(_LOOK_SECONDS)
            self.check()

    def map(self, do: Callable[[T], R], items: Sequence[T], *, width: int) -> list[R]:
        """Return the results of a function that asks the cluster, in the order of the items; `width` at once."""
        if min(width, len(items)) < 2:
            return [self._do(do, item) for item in items]
        pool = ThreadPoolExecutor(min(width, len(items)), thread_name_prefix="check")
        try:
            asked = [pool.submit(do, item) for item in items]
            while wait(asked, timeout=_LOOK_SECONDS).not_done:
                self.check()
            return [future.result() for future in asked]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _do(self, do: Callable[[T], R], item: T) -> R:
        self.check()
        return do(item)
