"""Renews a lease during a calculation, and ends the calculation when the lease is lost or the worker must stop.

A thread renews the lease, so that an object that takes long to calculate or mask does not lose it. The thread
interrupts the calculation only inside of `interruptible()`: never between the statements of a transaction.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar

from django.conf import settings
from django.db import DatabaseError, connection

from applyviz import stopping
from applyviz.engine.objects.errors import ApplyVizError

logger = logging.getLogger(__name__)
T = TypeVar("T")
_LOOK_SECONDS = 0.25
MOST_SECONDS = 60
_set_async_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc


def find_lease_end(now: datetime) -> datetime:
    """Return the end of a lease that is taken or renewed now."""
    return now + timedelta(seconds=settings.APPLYVIZ_LEASE_SECONDS)


class LeaseLostError(ApplyVizError):
    """Another worker has the work, or it is finished: stop without writing anything."""


class WorkerStoppingError(ApplyVizError):
    """This worker was asked to stop: return the work to the next one."""


class TooLongError(ApplyVizError):
    """One calculation takes longer than any object that a cluster would accept."""


class _InterruptedError(BaseException):
    """Raised in the calculating thread; no calculation catches it."""


class LeaseRenewer:
    """Context manager that renews a lease around the work.

    - `keep()` renews the lease; it returns False or raises `LeaseLostError` when the lease is lost.
    - `release()` hands the work over, and is called when the work has not ended at the end of the grace: a request to
      a slow cluster may hold up the thread that does it.
    """

    def __init__(
        self,
        keep: Callable[[], object],
        *,
        release: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep, self._release, self._clock = keep, release, clock
        self._owner = threading.get_ident()
        self._lock = threading.Lock()
        self._is_open, self._began = False, 0.0
        self._ended: ApplyVizError | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def check(self) -> None:
        """Raise `LeaseLostError` or `WorkerStoppingError` when the work must stop."""
        if self._ended is not None:
            raise self._ended

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Mark a block that only calculates: it ends at once when the work must stop, and raises as `check` does."""
        self.check()
        try:
            try:
                self._began = self._computed()
                self._is_open = True
                yield
            finally:
                self._close()
        except _InterruptedError:  # at most one is raised
            self._close()
        self.check()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Mark a block within an interruptible one that must not be left halfway, such as a query."""
        was_open = self._is_open
        self._close()
        yield
        self.check()
        if was_open:
            self._is_open = True
            self.check()  # a reason that came between the two lines interrupts nothing

    def each(self, found: Iterator[T]) -> Iterator[T]:
        """Yield the items of an iterator, each calculated in an interruptible block."""
        nothing = object()
        while True:
            with self.interruptible():
                item = next(found, nothing)
            if item is nothing:
                return
            yield item  # type: ignore[misc]  # it is no sentinel

    def _computed(self) -> float:
        """Return the CPU seconds of the calculating thread, or elapsed seconds where the system has no such clock."""
        if hasattr(time, "pthread_getcpuclockid"):
            return time.clock_gettime(time.pthread_getcpuclockid(self._owner))
        return time.monotonic()

    def _close(self) -> None:
        """Allow no interruption from here on, and discard one that is under way."""
        with self._lock:
            self._is_open = False
            if self._ended is not None:  # hot: nothing else interrupts
                _set_async_exception(ctypes.c_ulong(self._owner), None)

    def _end(self, reason: ApplyVizError) -> None:
        with self._lock:
            self._ended = reason
            if self._is_open:
                _set_async_exception(ctypes.c_ulong(self._owner), ctypes.py_object(_InterruptedError))

    def _renew(self) -> None:
        renewed = began = self._clock()
        try:
            while not self._done.wait(_LOOK_SECONDS):
                if stopping.is_requested():
                    self._end(WorkerStoppingError("this worker was asked to end"))
                    if not self._done.wait(stopping.seconds_left()):
                        renewed = -1.0
                        self._hand_over()
                    return
                if self._is_open and self._computed() - self._began > MOST_SECONDS:
                    self._end(TooLongError(f"one object takes more than {MOST_SECONDS} seconds of computing"))
                    return
                if self._clock() - renewed > settings.APPLYVIZ_LEASE_SECONDS / 4:
                    if not self._renew_once():
                        return
                    renewed = self._clock()
        finally:
            if renewed != began:
                connection.close()

    def _hand_over(self) -> None:
        try:
            if self._release is not None:
                self._release()
        except DatabaseError:
            logger.warning("a lease could not be released; the next worker waits for its end")

    def _renew_once(self) -> bool:
        """Return whether the work may continue; retry while the database is briefly unavailable."""
        try:
            if self._keep() is False:
                raise LeaseLostError("another worker owns it, or it is finished")
        except LeaseLostError as lost:
            self._end(lost)
            return False
        except DatabaseError:
            logger.warning("a lease could not be renewed; retrying")
        return True
