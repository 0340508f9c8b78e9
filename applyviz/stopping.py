"""Whether this worker was asked to end: said once by the process that got the signal, read by all that it forked.

A page of shared memory, made before workers fork: no file, no message, nothing that could be lost.
"""

from __future__ import annotations

import mmap

_page = mmap.mmap(-1, 1)


def request() -> None:
    """Say that the worker must end."""
    _page[0] = 1


def clear() -> None:
    """Begin anew: a process may start another worker after one ended."""
    _page[0] = 0


def is_requested() -> bool:
    """Return whether it must end."""
    return _page[0] == 1
