"""One refusal of the database as data, and the SQL for the human behind an account."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

# The person behind an account: linked accounts share one name.
HUMAN = "COALESCE((SELECT l.human FROM records_accountlink l WHERE l.person_id = {0}), 'account-' || {0})"


class Guard(Struct, frozen=True):
    """One refusal: its table and event, its condition ("" always), and its message."""

    name: str
    table: str
    event: str
    condition: str
    message: str


def quote_all(values: Iterable[str]) -> str:
    """Return constants of an enum as a list for SQL: `'queued', 'applying'`."""
    return ", ".join(f"'{value}'" for value in values)
