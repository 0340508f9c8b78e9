"""Whether this worker must stop: set once by the process that got the signal, read by all forked processes.

A page of shared memory, created before workers fork: no file, no message, nothing that could get lost.
"""

from __future__ import annotations

import mmap

_page = mmap.mmap(-1, 1)


def request() -> None:
    """Request that the worker stops."""
    _page[0] = 1


def clear() -> None:
    """Reset the request: a process may start another worker after one ended."""
    _page[0] = 0


def is_requested() -> bool:
    """Return whether the worker must stop."""
    return _page[0] == 1
