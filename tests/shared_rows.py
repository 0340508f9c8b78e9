"""Rows that all tests of a module share: a story that is played once, and read, or gone on from, by each test.

Each test begins with the same rows, because what it writes is undone at its end as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TypeVar

from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests import moments

T = TypeVar("T")
# Stories are over when the first test begins.
EARLIER = timedelta(minutes=1)


def share_rows(blocker: DjangoDbBlocker, make: Callable[[], T]) -> Iterator[T]:
    """Yield what a function makes, once, for a fixture of a module; its rows last as long as the fixture.

    The fixture needs `django_db_setup`. A test takes a deep copy of what it may change.
    """
    rows = transaction.atomic()
    rows._from_testcase = True  # type: ignore[attr-defined]  # as those of a test: what must be outermost may be inside
    with blocker.unblock():
        rows.__enter__()
        try:
            made = _make_earlier(make)
        except BaseException:
            _undo(rows)
            raise
    yield made
    with blocker.unblock():
        _undo(rows)


def _make_earlier(make: Callable[[], T]) -> T:
    moments.move_to(moments.read_moment() - EARLIER)
    try:
        return make()
    finally:
        moments.move_to(moments.read_moment())


def _undo(rows: transaction.Atomic) -> None:
    transaction.set_rollback(True)
    rows.__exit__(None, None, None)
