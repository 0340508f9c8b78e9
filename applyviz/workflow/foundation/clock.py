"""The clock of everything that expires: the database's, because the clocks of hosts differ.

SQLite has no clock; there the process and the database are one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic

from django.db import connection
from django.utils import timezone


def now() -> datetime:
    """Return the current time with its time zone."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def start_steady() -> Callable[[], datetime]:
    """Return a function that returns the current time without the database, for threads that must not use it."""
    started, began = now(), monotonic()
    return lambda: started + timedelta(seconds=monotonic() - began)
