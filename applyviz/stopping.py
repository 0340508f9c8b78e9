"""Whether this worker or web process must stop: set once by the process that got the signal, read by all forked ones.

A page of shared memory, created before workers fork: no file, no message, nothing that could get lost. Work in progress
has `GRACE_SECONDS` to end: requests in flight are waited for, nothing else is begun, and what is left is handed over.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

GRACE_SECONDS = 4.0
_LEFT_TO_END_SECONDS = 0.6  # for handing work over, after the grace
_page = mmap.mmap(-1, ctypes.sizeof(ctypes.c_double))
# The monotonic time of the request, which all processes of a machine share; 0.0 without a request.
_requested_at = ctypes.c_double.from_buffer(_page)


def request() -> None:
    """Request that the worker stops; a second request changes nothing."""
    if not is_requested():
        _requested_at.value = time.monotonic()


def clear() -> None:
    """Reset the request: a process may start another worker after one ended."""
    _requested_at.value = 0.0


def is_requested() -> bool:
    """Return whether the worker must stop."""
    return _requested_at.value != 0.0


def seconds_left() -> float:
    """Return how long work in progress may still take; infinite without a request, never negative."""
    began = _requested_at.value
    return max(0.0, began + GRACE_SECONDS - time.monotonic()) if began else float("inf")


def is_overdue() -> bool:
    """Return whether the grace is over: the work is being handed over, and this process writes nothing more."""
    return seconds_left() == 0.0


def limit_end(end: Callable[[], None] | None = None) -> None:
    """End this process a moment after the grace, if it still runs then: a thread may wait for a server for minutes.

    - `end()` is called first, to end the processes that this one started.
    """

    def wait() -> None:
        time.sleep(GRACE_SECONDS + _LEFT_TO_END_SECONDS)
        try:
            if end is not None:
                end()
        finally:
            sys.stdout.flush()
            os._exit(0)

    threading.Thread(target=wait, name="end", daemon=True).start()


def listen() -> None:
    """Note the stop signals that the server of this process handles, and limit how long it takes to end.

    - Must be called after the server installed its handlers; does nothing without them.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        handle: Any = signal.getsignal(number)
        if callable(handle) and handle is not signal.default_int_handler:
            signal.signal(number, _note_first(handle))


def _note_first(handle: Callable[[int, FrameType | None], object]) -> Callable[[int, FrameType | None], None]:
    def note(number: int, frame: FrameType | None) -> None:
        if not is_requested():
            request()
            limit_end()
        handle(number, frame)

    return note
