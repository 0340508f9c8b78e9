"""Processor time that no slow or busy machine makes longer: a small calculation is timed before and after."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from scripts.lanes import REFERENCE_SECONDS, time_calculation

T = TypeVar("T")


def measure(act: Callable[..., T], *given: object) -> tuple[T, float]:
    """Return the result of a function and the seconds of computing it would take on the reference machine.

    A machine that is faster counts as the reference machine.
    """
    before = time_calculation()
    began = time.process_time()
    result = act(*given)
    seconds = time.process_time() - began
    return result, seconds / max(1.0, before / REFERENCE_SECONDS, time_calculation() / REFERENCE_SECONDS)
