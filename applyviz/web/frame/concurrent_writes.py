"""Concurrent writes: a transaction that the database rolled back in favor of another one is a refusal, not an error.

The whole transaction was rolled back, so the person can simply try again. Use cases lock rows in one order
(`workflow/foundation/locks.py`), so this is the second line of defense.
"""

from __future__ import annotations

from django.db import OperationalError
from django.utils.translation import gettext as _

# Deadlock, serialization failure, lock not available: https://www.postgresql.org/docs/current/errcodes-appendix.html
_GIVEN_UP = frozenset({"40P01", "40001", "55P03"})
STATUS = 409


def is_collision(error: OperationalError) -> bool:
    """Return whether the database rolled a transaction back because of another one."""
    return getattr(error.__cause__, "sqlstate", "") in _GIVEN_UP


def describe_collision() -> str:
    """Return the message for people."""
    return _("someone else changed this at the same time. Nothing was saved; try again")
