"""The reads of a run: when each was answered, and with which status, until its journal takes them.

An object that is deleted is read again and again until it is gone, so of the reads of one path only the first and the
last are kept, with the number of those in between. Several threads read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from applyviz.engine.objects.values import JSONObject

_KEPT = 6


@dataclass
class _Reads:
    """The reads of one path: the first of them, the last, and how many came in between."""

    first: list[JSONObject] = field(default_factory=list)
    last: JSONObject | None = None
    skipped: int = 0

    def add(self, read: JSONObject) -> None:
        if len(self.first) < _KEPT:
            self.first.append(read)
            return
        self.skipped += self.last is not None
        self.last = read

    def render(self) -> list[JSONObject]:
        if self.last is None:
            return self.first
        return [*self.first, {**self.last, **({"skipped": self.skipped} if self.skipped else {})}]


class ReadLog:
    """Keeps the reads of a run by path; `now` returns the time."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = Lock()
        self._reads: dict[str, _Reads] = {}

    def add(self, path: str, status: int) -> None:
        """Note the answer to a read; status 0: no answer came."""
        read = {"path": path, "status": status, "at": self._now().isoformat()}
        with self._lock:
            self._reads.setdefault(path, _Reads()).add(read)

    def take(self, path: str) -> list[JSONObject]:
        """Return the reads of a path since the last time, in order, as JSON."""
        with self._lock:
            found = self._reads.pop(path, None)
        return [] if found is None else found.render()

    def take_others(self, paths: Collection[str]) -> list[JSONObject]:
        """Return the reads of all other paths since the last time: discovery, schemas, definitions."""
        with self._lock:
            names = [path for path in self._reads if path not in paths]
        return [read for path in names for read in self.take(path)]
