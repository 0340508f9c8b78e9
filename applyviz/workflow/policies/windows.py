"""When plans may run: weekly windows and freezes, in the wall time of a named zone.

Rule: a window opens at `start` and closes at `end` on each of its days; one whose end is not after its start goes
on into the next day. Days and hours are those that clocks on the wall show, so that a window moves with summer time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Window:
    """Days (0 is Monday) and hours (`HH:MM`) in which plans may run."""

    days: tuple[int, ...]
    start: str
    end: str
    zone: str = "UTC"

    def holds(self, now: datetime) -> bool:
        """Whether a moment lies in it."""
        local = now.astimezone(ZoneInfo(self.zone))
        start, end, at = time.fromisoformat(self.start), time.fromisoformat(self.end), local.time()
        if start < end:
            return local.weekday() in self.days and start <= at < end
        yesterday = (local.weekday() - 1) % 7
        return (local.weekday() in self.days and at >= start) or (yesterday in self.days and at < end)

    def __str__(self) -> str:
        days = ", ".join(DAYS[day] for day in self.days) if len(self.days) < len(DAYS) else "every day"
        return f"{days} {self.start} to {self.end} {self.zone}"


@dataclass(frozen=True, slots=True)
class Freeze:
    """Nothing runs from one local moment (`YYYY-MM-DDTHH:MM`) until another."""

    start: str
    end: str
    zone: str = "UTC"
    reason: str = ""

    def _moment(self, text: str) -> datetime:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(self.zone))

    @property
    def starts_at(self) -> datetime:
        """Its first moment."""
        return self._moment(self.start)

    @property
    def ends_at(self) -> datetime:
        """Its end, no longer part of it."""
        return self._moment(self.end)

    def holds(self, now: datetime) -> bool:
        """Whether a moment lies in it."""
        return self.starts_at <= now < self.ends_at

    def __str__(self) -> str:
        text = f"{self.start.replace('T', ' ')} to {self.end.replace('T', ' ')} {self.zone}"
        return f"{text}: {self.reason}" if self.reason else text


Windows = tuple[Window, ...]


def find_closed(windows: Iterable[Windows], freezes: Iterable[Freeze], now: datetime) -> tuple[str, ...]:
    """Why nothing may run at a moment; empty when it may.

    - Every group of windows must have one that is open; no freeze may hold.
    """
    frozen = [f"changes are frozen: {freeze}" for freeze in freezes if freeze.holds(now)]
    closed = [
        f"the change window is closed; it is open {' or '.join(str(window) for window in group)}"
        for group in windows
        if group and not any(window.holds(now) for window in group)
    ]
    return (*frozen, *closed)


def find_opening(windows: Iterable[Windows], freezes: Iterable[Freeze], now: datetime) -> datetime | None:
    """The next quarter of an hour at which plans may run, within four weeks; None when there is none."""
    groups, frozen = tuple(windows), tuple(freezes)
    step = timedelta(minutes=15)
    at = now
    for _ in range(4 * 7 * 24 * 4):
        if not find_closed(groups, frozen, at):
            return at
        at = at.replace(second=0, microsecond=0) - timedelta(minutes=at.minute % 15) + step
    return None
