"""Tune Python's garbage collector while a plan is made or run: both create very many values, and nearly all stay.

Full collections would visit every live value again and again as a plan grows: a quarter of its time, without a result.
So only young objects are collected meanwhile, and seldom, which still finds the cycles of short-lived objects. A run
ends, or gives its worker back, before it waits for long.

The code and the schemas that a process has loaded until its first plan stay until its end, and visiting them is nearly
all that a full collection costs: they are left out from then on. What has no cycles is still freed at once.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# New objects before a young collection; young collections before a middle one; middle ones before a full one.
_PATIENT = (50_000, 20, 1_000)
_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()
_has_frozen = False


def _freeze_loaded() -> None:
    """Leave what lives now out of all later collections, once in a process; garbage is collected before."""
    global _has_frozen  # as long as the process
    if not _has_frozen:
        _has_frozen = True
        gc.collect()
        gc.freeze()


@contextmanager
def defer_full_gc() -> Iterator[None]:
    """Defer full collections until the last plan or run in progress in this process has ended."""
    global _depth, _usual  # the collector is shared by the whole process
    with _lock:
        if not _depth:
            _freeze_loaded()
            _usual = gc.get_threshold()
            gc.set_threshold(*_PATIENT)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                gc.set_threshold(*_usual)
