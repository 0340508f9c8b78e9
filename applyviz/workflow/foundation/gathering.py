"""Write the rows of one transaction together: what several objects of a run record becomes a few statements.

Inside `gather`, inserts and updates wait until its end, which must be inside the same transaction: all of them are
stored, or none. Outside of it each is written at once. A row that was inserted has its key after the end of `gather`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from django.db import models

from applyviz.records.models import ChainEnd
from applyviz.workflow.foundation.row_updates import update_rows


@dataclass
class Gathering:
    """The rows that wait, and what is to be done when they are written."""

    inserts: dict[type[models.Model], list[models.Model]] = field(default_factory=dict)
    updates: dict[tuple[type[models.Model], tuple[str, ...]], list[models.Model]] = field(default_factory=dict)
    chain_ends: dict[int, ChainEnd] = field(default_factory=dict)
    at_end: list[Callable[[], object]] = field(default_factory=list)

    def write(self) -> None:
        """Write everything that waits."""
        for act in self.at_end:
            act()
        for model, rows in self.inserts.items():
            model._default_manager.bulk_create(rows)
        for (_model, names), changed in self.updates.items():
            update_rows(changed, names)


_current: ContextVar[Gathering | None] = ContextVar("gathering", default=None)


def find_current() -> Gathering | None:
    """Return the gathering that this code runs in; None outside of `gather`."""
    return _current.get()


@contextmanager
def gather() -> Iterator[Gathering]:
    """Let the rows of this block wait, and write them at its end; an error writes none of them."""
    gathering = Gathering()
    token = _current.set(gathering)
    try:
        yield gathering
    finally:
        _current.reset(token)
    gathering.write()


def insert(row: models.Model) -> None:
    """Store a new row, at once or with the others."""
    gathering = _current.get()
    if gathering is None:
        row.save(force_insert=True)
    else:
        gathering.inserts.setdefault(type(row), []).append(row)


def update(row: models.Model, names: Sequence[str]) -> None:
    """Store these fields of a stored row, at once or with the others."""
    gathering = _current.get()
    if gathering is None:
        update_rows([row], names)
    else:
        gathering.updates.setdefault((type(row), tuple(names)), []).append(row)
