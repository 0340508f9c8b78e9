"""The time of a simulation: a clock that may be set to an earlier moment, and timers that a store keeps.

No process waits. Each timer names an object and the moment at which a controller looks at it again; the first request
after that moment does the work, at the time of the timer. Thus the same things happen at the same times, however seldom
somebody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from applyviz.sandbox.storage.store import ObjectKey, Store

TIMERS = "workload-timers"
"""The name of the timers among the values of a store; without a value, the simulation begins."""
_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
_SEPARATOR = "|"


class SimulatedClock:
    """The clock of a sandbox: the injected one, except while work of an earlier moment is done."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._moment: datetime | None = None

    def __call__(self) -> datetime:
        """Return the simulated moment, or the real time."""
        return self._moment or self._clock()

    @contextmanager
    def stopped_at(self, moment: datetime) -> Iterator[None]:
        """Set the clock to a moment until the block ends."""
        stored, self._moment = self._moment, moment
        try:
            yield
        finally:
            self._moment = stored


def write_moment(moment: datetime) -> str:
    """Return a moment as text that sorts by time."""
    return moment.astimezone(UTC).strftime(_FORM)


def seconds_between(earlier: str, later: datetime) -> float:
    """Return the seconds from a time of metadata to a moment."""
    return (later - datetime.fromisoformat(earlier)).total_seconds()


def has_due_work(store: Store, now: datetime) -> bool:
    """Return whether a timer is due, or the simulation of this store has not begun; opens no object."""
    stored = store.get_meta(TIMERS)
    return not isinstance(stored, Mapping) or any(due <= write_moment(now) for due in stored.values())


class Timers:
    """One timer per object: the earliest moment wins. Use them inside `loaded()`, in a transaction."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock
        self._due: dict[str, str] | None = None

    @contextmanager
    def loaded(self) -> Iterator[bool]:
        """Read the timers, and store them at the end if they changed; yields whether there were any before."""
        if self._due is not None:
            yield True
            return
        stored = self._store.get_meta(TIMERS)
        self._due = dict(stored) if isinstance(stored, Mapping) else {}
        try:
            yield isinstance(stored, Mapping)
            if self._due != stored:
                self._store.put_meta(TIMERS, dict(self._due))
        finally:
            self._due = None

    def set(self, key: ObjectKey, seconds: float) -> None:
        """Look at an object after some seconds, unless an earlier look is planned."""
        if self._due is None:
            raise LookupError("timers are set inside loaded()")
        name, due = _SEPARATOR.join(key), write_moment(self._clock() + timedelta(seconds=seconds))
        self._due[name] = min(due, self._due.get(name, due))

    def pop(self, now: datetime) -> tuple[datetime, ObjectKey] | None:
        """Take the earliest timer that is due; None if none is."""
        if not self._due:
            return None
        due, name = min((due, name) for name, due in self._due.items())
        if due > write_moment(now):
            return None
        del self._due[name]
        return datetime.fromisoformat(due), ObjectKey(*name.split(_SEPARATOR))
