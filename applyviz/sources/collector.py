"""Python's garbage collector while a plan is made: very many values come to be, and nearly all of them stay.

A full collection looks at everything that lives, again and again as a plan grows: a quarter of its time, and nothing
is found. So only what is young is looked at meanwhile, which finds the cycles of short-lived objects all the same.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# New objects before the young are looked at; how often that is before those that stayed are; and those, before all are.
_PATIENT = (50_000, 20, 1_000)
_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()


@contextmanager
def defer_full_gc() -> Iterator[None]:
    """Leave what has stayed alone until the last plan that is being made in this process is ready."""
    global _depth, _usual  # the collector is one for the whole process
    with _lock:
        if not _depth:
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
