"""Keep the answers of the database while one page is shown: its parts ask for the same rows many times.

Outside `at_one_moment` nothing is kept. Only the guard of pages opens a moment, for GET and HEAD, and never around a
change: a use case reads everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")
_moment: ContextVar[dict[Hashable, object] | None] = ContextVar("moment", default=None)


@contextmanager
def at_one_moment() -> Iterator[None]:
    """Keep the answers of `read_once` within this block."""
    token = _moment.set({})
    try:
        yield
    finally:
        _moment.reset(token)


def is_within() -> bool:
    """Return whether a page is being shown."""
    return _moment.get() is not None


def read_once(key: Hashable, read: Callable[[], T]) -> T:
    """Return what `read` returns, read once per moment under this key; outside a moment, read now.

    - The key names the question and everything that its answer depends on. Callers never change the answer.
    """
    kept = _moment.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    return cast(T, kept[key])


def find(key: Hashable) -> Any:
    """Return what is kept under a key; None when nothing is, and outside a moment."""
    return (_moment.get() or {}).get(key)


def keep(key: Hashable, answer: object) -> None:
    """Keep an answer that was read together with something else; outside a moment, do nothing."""
    kept = _moment.get()
    if kept is not None:
        kept[key] = answer
