"""Keep the answers of the database for a moment: one page, or the checks of one use case, ask for the same rows often.

Outside of a moment nothing is kept, and none outlives its block. There are two:

- `at_one_moment`, while a page is shown. Only the guard of pages opens it, for GET and HEAD, and never around a change.
- `until_written`, while a use case checks. It forgets everything as soon as anything is written, locked or rolled back:
  after a lock or a change, the database is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from django.db import connection
from msgspec import Struct, field

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_READING = ("SELECT ", "SAVEPOINT ", "RELEASE SAVEPOINT ")


class _ReadOnce(Struct, frozen=True):
    """The answers so far; `is_page`: of a page that is being shown."""

    is_page: bool
    kept: dict[Hashable, object] = field(default_factory=dict)

    def watch(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        """Execute a statement; forget every answer unless it only reads, without a lock."""
        try:
            return execute(sql, *rest)
        finally:
            if not sql.startswith(_READING) or " FOR " in sql:
                self.kept.clear()


_moment: ContextVar[_ReadOnce | None] = ContextVar("moment", default=None)


@contextmanager
def _begin(moment: _ReadOnce) -> Iterator[None]:
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)


@contextmanager
def at_one_moment() -> Iterator[None]:
    """Keep the answers of `read_once` within this block, which shows a page."""
    with _begin(_ReadOnce(is_page=True)):
        yield


@contextmanager
def until_written() -> Iterator[None]:
    """Keep the answers of `read_once` within this block of a use case until it writes, locks or rolls back.

    - Open it inside the transaction of the use case: what was read before its end must not outlive a rollback.
    - Within another moment, that one goes on.
    """
    if _moment.get() is not None:
        yield
        return
    moment = _ReadOnce(is_page=False)
    with connection.execute_wrapper(moment.watch), _begin(moment):
        yield


def is_within() -> bool:
    """Return whether a page is being shown."""
    moment = _moment.get()
    return moment is not None and moment.is_page


def read_once(key: Hashable, read: Callable[[], T]) -> T:
    """Return what `read` returns, read once per moment under this key; outside a moment, read now.

    - The key names the question and everything that its answer depends on. Callers never change the answer.
    """
    moment = _moment.get()
    if moment is None:
        return read()
    if key not in moment.kept:
        answer = read()
        moment.kept[key] = answer
        return answer
    return cast(T, moment.kept[key])


def read_on_page(key: Hashable, read: Callable[[], T]) -> T:
    """Return what `read` returns, read once while a page is shown; read now for a use case.

    - For what must not be kept by a use case, such as that something does not exist yet.
    """
    return read_once(key, read) if is_within() else read()


def find(key: Hashable) -> Any:
    """Return what is kept under a key; None when nothing is, and outside a moment."""
    moment = _moment.get()
    return moment.kept.get(key) if moment is not None else None


def keep(key: Hashable, answer: object) -> None:
    """Keep an answer that was read together with something else; outside a moment, do nothing."""
    moment = _moment.get()
    if moment is not None:
        moment.kept[key] = answer


def read_together(name: str, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, T]]) -> None:
    """Keep, while a page is shown, the answers to one question about many things, read with one call.

    - `read` returns the answer for each key that it gets; `(name, key)` is the key under which an answer is kept.
    - One alone is read when it is asked for.
    """
    moment = _moment.get()
    if moment is None or not moment.is_page:
        return
    missing = [key for key in dict.fromkeys(keys) if (name, key) not in moment.kept]
    if len(missing) > 1:
        moment.kept.update({(name, key): answer for key, answer in read(missing).items()})
