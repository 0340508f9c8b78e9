"""What happened, as plain data: what servers saw on the wire, what the database holds, what the audit tells.

`checker.find_violations` judges it; `gathering.py` reads it from a database, `apiserver.py` and the model's wire
write their part. Times are seconds since the epoch, on one machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = Any


def place_of(method: str, path: str, body: JSON) -> str:
    """The address of the object that a request is about."""
    if method != "POST" or not isinstance(body, Mapping):
        return path
    return f"{path}/{(body.get('metadata') or {}).get('name', '')}"


@dataclass
class Exchange:
    """One request as a server saw it.

    - `status` is what the server decided, 0 when it never came to act; `is_effective`: the stored object changed.
    - `before` and `after` are the stored object around it; `is_delivered`: the whole answer went out.
    - `intents` are the digests of all audited intents of that address that were durable when it arrived; None when
      nobody could find out. `phase` is what went wrong with it on purpose.
    """

    server: str
    received: float
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    body: JSON = None
    is_write: bool = False
    status: int = 0
    is_effective: bool = False
    before: JSON = None
    after: JSON = None
    is_delivered: bool = False
    answered: float = 0.0
    intents: tuple[str, ...] | None = ()
    phase: str = ""

    @property
    def sent(self) -> tuple[str, str, JSON, str, JSON]:
        """What went out."""
        return self.method, self.path, dict(self.query), self.content_type, self.body

    @property
    def place(self) -> str:
        """The address of the object that it is about; a creation names the collection."""
        return place_of(self.method, self.path, self.body)


@dataclass(frozen=True)
class Entry:
    """One journal entry, opened."""

    part: int
    epoch: int
    state: str
    method: str
    path: str
    query: Mapping[str, str]
    content_type: str
    body: JSON
    digest: str
    before: Mapping[str, str]
    status: int
    sent_at: float
    answered_at: float

    @property
    def sent(self) -> tuple[str, str, JSON, str, JSON]:
        """What was written down as going out."""
        return self.method, self.path, dict(self.query), self.content_type, self.body


@dataclass(frozen=True)
class Item:
    """One object of a run: what was approved, and what is said to have come out.

    - `requests` are the approved templates with their holes; `live` and `after` the approved effect.
    - `is_exact`: `after` is what a server confirmed, not only what was calculated.
    - `addon` is the addon of a kOps channel whose object it applies, "" for its deletions and its record;
      `addon_attempt` is 2 once the addon tried the object again.
    """

    key: tuple[str, str, str, str]
    path: str
    step: int
    operation: str
    requests: tuple[JSON, ...]
    live: JSON
    after: JSON
    is_exact: bool
    outcome: str
    detail: str
    differences: JSON
    finished_at: float
    journal: tuple[Entry, ...] = ()
    addon: str = ""
    addon_attempt: int = 1


@dataclass(frozen=True)
class Consent:
    """One approval of the plan of a run."""

    id: int
    by: str
    digest: str
    created_at: float
    spent_at: float
    revoked_at: float
    expires_at: float = 0.0


@dataclass(frozen=True)
class Run:
    """One apply run with all that it rests on.

    - `authors` are all who wrote, edited, decided or requested; `needed` the quorum when it started.
    - `is_emergency`: it was started by breaking the glass, and a separate record says so.
    """

    number: int
    plan: int
    review: int
    digest: str
    target: str
    state: str
    error: str
    summary: Mapping[str, int]
    epoch: int
    created_at: float
    finished_at: float
    authors: frozenset[str]
    needed: int
    consents: tuple[Consent, ...]
    items: tuple[Item, ...]
    is_emergency: bool = False


@dataclass(frozen=True)
class Told:
    """One audit entry, in the order of its chain."""

    order: int
    at: float
    action: str
    review: int | None
    plan: int | None
    run: int | None
    actor: str
    key: tuple[str, str, str, str]
    detail: JSON


@dataclass(frozen=True)
class History:
    """Everything of one trial.

    - `settled`: faults have ended and everybody had the time to finish; only then must everything be final.
    - `chain` is what the verification of the audit chain says, "" when it is intact.
    """

    exchanges: tuple[Exchange, ...]
    runs: tuple[Run, ...]
    audit: tuple[Told, ...]
    chain: str = ""
    is_settled: bool = True


@dataclass(frozen=True)
class Violation:
    """One broken rule: which, about what, and what was seen."""

    rule: str
    about: str
    seen: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.seen}"
