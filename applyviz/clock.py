"""The clock: the one module of the product that reads the time of day.

What several hosts must agree on (leases, claims, approvals, windows, limits) goes by `now`, the database's clock,
because the clocks of hosts differ. What is recorded or shown, and tokens, which last for days, go by `host_now`, which
costs no query. SQLite has no clock; there the process and the database are one machine. Waits of this process are
measured by `time.monotonic`, which knows no time of day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic

from django.db import connection
from django.utils.timezone import localdate, make_aware


def now() -> datetime:
    """Return the current time with its time zone, by the clock of the database if it has one."""
    if connection.vendor != "postgresql":
        return host_now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def host_now() -> datetime:
    """Return the current time in UTC, by the clock of this host: for what is recorded or shown, never for a lease."""
    return datetime.now(UTC)


def host_today() -> date:
    """Return the current day in the time zone of the settings, by the clock of this host."""
    return localdate(host_now())


def find_start(day: date) -> datetime:
    """Return the first moment of a day in the time zone that is active, as the days of a reader are."""
    return make_aware(datetime.combine(day, time()))


def start_steady() -> Callable[[], datetime]:
    """Return a function that returns the current time without the database, for threads that must not use it."""
    started, began = now(), monotonic()
    return lambda: started + timedelta(seconds=monotonic() - began)
