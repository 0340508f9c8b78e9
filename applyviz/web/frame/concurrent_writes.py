"""Two people at the very same moment: what the database gave up so that one of them goes on is a refusal, no error.

The transaction was undone as a whole, so whoever is refused may simply try again. Use cases hold rows in one order
(`workflow/locks.py`), so this is the second line.
"""

from __future__ import annotations

from django.db import OperationalError
from django.utils.translation import gettext as _

# Deadlock, serialization failure, lock not available: https://www.postgresql.org/docs/current/errcodes-appendix.html
_GIVEN_UP = frozenset({"40P01", "40001", "55P03"})
STATUS = 409


def is_collision(error: OperationalError) -> bool:
    """Whether the database gave a transaction up because of another one."""
    return getattr(error.__cause__, "sqlstate", "") in _GIVEN_UP


def describe_collision() -> str:
    """What people are told."""
    return _("someone else changed this at the same time. Nothing was saved; try again")
