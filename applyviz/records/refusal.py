"""One refusal of the database as data, and who the human behind an account is, as SQL says it."""

from __future__ import annotations

from dataclasses import dataclass

# The person behind an account: linked accounts have one name.
HUMAN = "COALESCE((SELECT l.human FROM records_accountlink l WHERE l.person_id = {0}), 'account-' || {0})"


@dataclass(frozen=True, slots=True)
class Guard:
    """One refusal: on which table and event, under which condition ("" always), and what is said."""

    name: str
    table: str
    event: str
    condition: str
    message: str
