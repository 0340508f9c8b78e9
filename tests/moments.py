"""The moment at which tests run: always the same one, so that no test depends on the day.

`at` moves the clock of this process, which goes on from there. Processes that a test starts with the test settings get
the distance to the real time by the environment (`OFFSET`), and follow. Lanes in which other programs read the time,
databases, browsers, servers, keep the real one: `needs_real_time`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import time_machine

if TYPE_CHECKING:
    import pytest

# A Tuesday, unless the environment names another moment.
MOMENT = "2026-11-24T10:00:00+00:00"
NAME = "APPLYVIZ_TEST_MOMENT"
OFFSET = "APPLYVIZ_TEST_OFFSET"
# Other programs take part, which read the time themselves: PostgreSQL, Redis, Kubernetes, browsers, our own scripts.
REAL_TIME = ("controlplane", "e2e", "faults", "install", "real_time", "renderers", "services", "start", "visual")

_clocks: list[time_machine.Traveller] = []


def needs_real_time(item: pytest.Item) -> bool:
    """Whether other programs that read the time take part in a test."""
    return any(item.get_closest_marker(name) for name in REAL_TIME)


def read_moment() -> datetime:
    """The moment at which every test begins."""
    return datetime.fromisoformat(os.environ.get(NAME, MOMENT))


def _tell_children(moment: datetime) -> None:
    real = datetime.fromtimestamp(time_machine.escape_hatch.time.time(), UTC)
    os.environ[OFFSET] = str((moment - real).total_seconds())


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """The clock of this process, and of those that it starts, goes on from this moment."""
    with time_machine.travel(moment, tick=True) as clock:
        _clocks.append(clock)
        _tell_children(moment)
        try:
            yield
        finally:
            _clocks.pop()
            del os.environ[OFFSET]


def move_to(moment: datetime, *, tick: bool = True) -> None:
    """Move the clock of a test, which goes on from there or stands; the next test begins at its own moment."""
    _tell_children(moment)
    _clocks[-1].move_to(moment, tick=tick)


def follow_parent() -> None:
    """Move the clock of this process by what the environment says, for good."""
    if OFFSET in os.environ:
        time_machine.travel(datetime.now(UTC) + timedelta(seconds=float(os.environ[OFFSET])), tick=True).start()
