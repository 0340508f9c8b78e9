"""Change windows: weekly windows and freezes, in the local time of a named zone.

Rule: a window opens at `start` and closes at `end` on each of its days; if its end is not after its start, it closes
on the next day. Days and hours are local, so a window moves with daylight saving time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from applyviz.workflow.foundation.blockers import ChangesFrozen, PlanBlocker, WindowClosed

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _render_days(days: tuple[int, ...]) -> str:
    """Return days as people write them: three and more in a row as a range."""
    if len(days) == len(DAYS):
        return "daily"
    parts: list[str] = []
    chosen = sorted(days)
    while chosen:
        row = [day for n, day in enumerate(chosen) if day == chosen[0] + n]
        names = [DAYS[day] for day in row]
        parts += [f"{names[0]}-{names[-1]}"] if len(row) > 2 else names
        chosen = chosen[len(row) :]
    return ",".join(parts)


class Window(Struct, frozen=True):
    """Days (0 is Monday) and hours (`HH:MM`) in which plans may run."""

    days: tuple[int, ...]
    start: str
    end: str
    zone: str = "UTC"

    def contains(self, now: datetime) -> bool:
        """Return whether a moment is within the window."""
        local = now.astimezone(ZoneInfo(self.zone))
        start, end, at = time.fromisoformat(self.start), time.fromisoformat(self.end), local.time()
        if start < end:
            return local.weekday() in self.days and start <= at < end
        yesterday = (local.weekday() - 1) % 7
        return (local.weekday() in self.days and at >= start) or (yesterday in self.days and at < end)

    def __str__(self) -> str:
        return f"{_render_days(self.days)} {self.start}-{self.end} {self.zone}"


class Freeze(Struct, frozen=True):
    """A period of local times (`YYYY-MM-DDTHH:MM`) in which nothing runs."""

    start: str
    end: str
    zone: str = "UTC"
    reason: str = ""

    def _moment(self, text: str) -> datetime:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(self.zone))

    @property
    def starts_at(self) -> datetime:
        """Return its first moment."""
        return self._moment(self.start)

    @property
    def ends_at(self) -> datetime:
        """Return its end (exclusive)."""
        return self._moment(self.end)

    def contains(self, now: datetime) -> bool:
        """Return whether a moment is within the freeze."""
        return self.starts_at <= now < self.ends_at

    def __str__(self) -> str:
        return f"{self.start} {self.end} {self.zone} {self.reason}".strip()


Windows = tuple[Window, ...]


def find_closed(windows: Iterable[Windows], freezes: Iterable[Freeze], now: datetime) -> tuple[PlanBlocker, ...]:
    """Return why nothing may run at a moment; empty when it may.

    - One window of every group must be open; no freeze may be active.
    """
    frozen = [ChangesFrozen(f.ends_at, f.zone, f.reason) for f in freezes if f.contains(now)]
    closed = [
        WindowClosed(tuple(map(str, group)))
        for group in windows
        if group and not any(window.contains(now) for window in group)
    ]
    return (*frozen, *closed)


def find_opening(windows: Iterable[Windows], freezes: Iterable[Freeze], now: datetime) -> datetime | None:
    """Return the next quarter of an hour at which plans may run, within four weeks; None when there is none."""
    groups, frozen = tuple(windows), tuple(freezes)
    step = timedelta(minutes=15)
    at = now
    for _quarter in range(4 * 7 * 24 * 4):
        if not find_closed(groups, frozen, at):
            return at
        at = at.replace(second=0, microsecond=0) - timedelta(minutes=at.minute % 15) + step
    return None


_TIME = "[0-9]{2}:[0-9]{2}"
_ZONE = r"(?: +(?P<zone>\S+))?"
_WINDOW = re.compile(rf"(?P<days>[A-Za-z,-]+) +(?P<start>{_TIME})-(?P<end>{_TIME}){_ZONE}")
_FREEZE = re.compile(rf"(?P<start>\S+T{_TIME}) +(?P<end>\S+T{_TIME}){_ZONE}(?: +(?P<reason>.+))?")


def _parse_days(text: str) -> tuple[int, ...]:
    if text.lower() == "daily":
        return tuple(range(len(DAYS)))
    names = [name.lower() for name in DAYS]
    days: set[int] = set()
    for part in text.lower().split(","):
        first, _dash, last = part.partition("-")
        if first not in names or (last and last not in names):
            raise ValueError(f"{part!r} is not a day; days are {', '.join(DAYS)}")
        start = names.index(first)
        count = (names.index(last) - start) % 7 if last else 0
        days |= {(start + n) % 7 for n in range(count + 1)}
    return tuple(sorted(days))


def parse_window(text: str) -> Window:
    """Parse `Mon-Fri 09:00-17:00 Europe/Berlin`, the `str` of a window.

    - Raises `ValueError` with what is wrong.
    """
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r}: expected days, hours and zone, like `Mon-Fri 09:00-17:00 Europe/Berlin`")
    return Window(_parse_days(found["days"]), found["start"], found["end"], found["zone"] or "UTC")


def parse_freeze(text: str) -> Freeze:
    """Parse `2026-12-20T18:00 2027-01-04T08:00 Europe/Berlin Holidays`, the `str` of a freeze.

    - Raises `ValueError` with what is wrong.
    """
    found = _FREEZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r}: expected start, end, zone, reason, like `2026-12-20T18:00 2027-01-04T08:00 UTC`")
    return Freeze(found["start"], found["end"], found["zone"] or "UTC", found["reason"] or "")
