"""The clock of an API server, and how far it is ahead of ours.

Rule: the server dates managedFields, events and deletions by its own clock, and sends the time of that clock in the
Date header of every answer (RFC 9110, section 6.6.1). The clock of this machine may differ, so convert a time of one
clock before you compare it with a time of the other.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

AGREEMENT: Final = timedelta(seconds=10)
"""Clocks this close count as equal: the header has whole seconds, the answer takes a while, and a cluster may have
several API servers."""
NO_DIFFERENCE: Final = timedelta()


def read_date(header: str) -> datetime | None:
    """Return the time of a Date header; None if it is empty or not readable."""
    try:
        at = parsedate_to_datetime(header) if header else None
    except ValueError:
        return None
    return at if at is None or at.tzinfo is not None else at.replace(tzinfo=UTC)


def compare_clocks(server: datetime | None, ours: datetime) -> timedelta | None:
    """Return how far the server's clock is ahead of ours, from both times at one moment; None without the server's."""
    if server is None:
        return None
    ahead = server - ours
    return NO_DIFFERENCE if abs(ahead) <= AGREEMENT else ahead


def to_ours(moment: datetime, ahead: timedelta | None) -> datetime:
    """Convert a time of the server's clock to our clock; an unknown `ahead` counts as no difference."""
    return moment - (ahead or NO_DIFFERENCE)


def to_server(moment: datetime, ahead: timedelta | None) -> datetime:
    """Convert a time of our clock to the server's clock; `ahead` as for `to_ours`."""
    return moment + (ahead or NO_DIFFERENCE)


def convert_text(text: str, ahead: timedelta | None) -> str:
    """Convert a time as the server writes it to our clock; return any other text unchanged."""
    if not ahead:
        return text
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return to_ours(at, ahead).isoformat() if at.tzinfo is not None else text
