"""How the scripts measure: medians of processor time, and the kinds that most of them plan with."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema


def median_ms(work: Callable[[], object], repeat: int) -> float:
    """Median milliseconds of processor time of one call; what others do on the machine counts for little."""
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return statistics.median(times) * 1000


def find_kind(group: str, kind: str) -> KindSchema:
    """A built-in kind at version v1."""
    found = bundled().find_kind(GroupVersionKind(group, "v1", kind))
    if found is None:
        raise LookupError(f"no built-in kind {kind}")
    return found
