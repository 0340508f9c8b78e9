"""What the database holds for good at the moment when a write arrives: asked then, by a connection of its own.

A database that is down at that moment cannot answer; it is asked later what had been committed by then, because it
keeps the time of each commit. A question that nobody could answer is counted, never taken for an answer.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

from tests.faults.history import Exchange

_ASK = """
    SELECT detail->>'request digest' FROM records_auditentry
    WHERE action = 'object.intent' AND name = %s AND at >= to_timestamp(%s)
"""
_ASK_LATER = _ASK + " AND pg_xact_commit_timestamp(xmin) <= to_timestamp(%s)"
_PATIENCE = 3.0


def name_object(place: str) -> str:
    """The name of the object at a path, which may lead to its scale or status."""
    *_above, parent, name = place.split("/")
    return parent if name in ("scale", "status") else name


class Durable:
    """Answers with the digests of the audited intents of an object; None when the database did not answer in time."""

    def __init__(self, database: str) -> None:
        self._database, self._lock = database, threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self.since = 0.0
        self.asked, self.asked_later = 0, 0

    def __call__(self, place: str) -> tuple[str, ...] | None:
        self.asked += 1
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                return self._ask(_ASK, name_object(place), self.since)
            except psycopg.Error:
                time.sleep(0.05)
        return None

    def ask_later(self, seen: Exchange) -> None:
        """Find out what was durable when a write had arrived; what cannot be found out stays None."""
        name = name_object(seen.place)
        try:
            seen.intents = self._ask(_ASK_LATER, name, self.since, seen.received)
        except psycopg.Error:
            return
        self.asked_later += 1

    def _ask(self, question: str, *given: object) -> tuple[str, ...]:
        with self._lock:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connect()
                return tuple(str(row[0]) for row in self._connection.execute(question, given))
            except psycopg.Error:
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                raise

    def _connect(self) -> psycopg.Connection[Any]:
        patience = f"-c statement_timeout={int(_PATIENCE * 1000)}"
        return psycopg.connect(self._database, autocommit=True, connect_timeout=int(_PATIENCE), options=patience)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
