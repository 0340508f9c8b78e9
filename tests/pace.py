"""Processor time that no slow or busy machine makes longer: a small calculation is timed before and after."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from scripts.lanes import REFERENCE_SECONDS, time_calculation

T = TypeVar("T")
# A tenth of the calculation, in 6 ms: the best of five is as steady, and costs a measurement 60 ms, not 600.
STEPS = 100_000


def measure(act: Callable[..., T], *given: object) -> tuple[T, float]:
    """Return the result of a function and the seconds of computing it would take on the reference machine.

    A machine that is faster counts as the reference machine. Both times leave out what other processes take.
    """
    before = _find_pace()
    began = time.process_time()
    result = act(*given)
    seconds = time.process_time() - began
    return result, seconds / max(1.0, before, _find_pace())


def _find_pace() -> float:
    """Return how many times slower than the reference machine this one calculates now."""
    return time_calculation(STEPS, time.thread_time) / REFERENCE_SECONDS
