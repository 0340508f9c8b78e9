"""Queries whose SQL is written once: Django writes it for longer than the database takes to answer a small one.

For questions that every page or use case asks. What a question depends on are numbers; everything else stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import connection, models, transaction
from django.db.models.query import QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=models.Model)
Row = TypeVar("Row")
# Numbers that no query holds by itself: the SQL is written with them, and each is then replaced by what is asked.
_STAND_INS = tuple(range(1_908_472_651, 1_908_472_655))
# What an integer of a database can be; nothing has a number beyond.
_MOST = 2**63


class _WrittenCompiler(SQLCompiler):
    """A compiler that has written its SQL."""

    sql: str
    given: tuple[str | int, ...]

    def write(self) -> None:
        """Write the SQL, and note what it selects."""
        self.sql, self.given = super().as_sql()

    def as_sql(self, *_: object, **__: object) -> tuple[str, tuple[str | int, ...]]:
        """Return what was written."""
        if self.query.select_for_update and self.connection.get_autocommit():
            raise transaction.TransactionManagementError("a lock needs a transaction")
        return self.sql, self.given


class _WrittenQuery(Query):
    """A query that is asked as it was written."""

    written: SQLCompiler

    def get_compiler(self, *_: object, **__: object) -> SQLCompiler:
        """Return the compiler that holds the SQL."""
        return self.written


@dataclass(frozen=True, slots=True)
class _Written(Generic[M, Row]):
    """What was put together, and where which number belongs among its parameters."""

    rows: QuerySet[M, Row]
    compiler: _WrittenCompiler
    indices: tuple[tuple[int, int], ...]

    def ask(self, numbers: tuple[int, ...]) -> list[Row]:
        """Return the rows for these numbers."""
        given = list(self.compiler.given)
        for index, number in self.indices:
            given[index] = numbers[number]
        one = copy(self.compiler)
        one.connection, one.given = connection, tuple(given)
        query = _WrittenQuery(self.rows.model)
        query.written = one
        asked: QuerySet[M, Row] = QuerySet(self.rows.model, query=query)
        asked._iterable_class = self.rows._iterable_class
        return list(asked)


class WrittenQuery(Generic[M, Row]):
    """One question whose SQL is written when it is asked first.

    - `put_together` returns the query for its numbers; it is called once, with numbers that stand for others, and must
      not choose by them. Nothing is prefetched.
    """

    def __init__(self, put_together: Callable[..., QuerySet[M, Row]], *, numbers: int = 0) -> None:
        self._put_together, self._numbers = put_together, numbers
        self._written: _Written[M, Row] | None = None

    def ask(self, *numbers: int) -> list[Row]:
        """Return all rows for these numbers; none for a number that no row can have."""
        if any(not -_MOST <= number < _MOST for number in numbers):
            return []
        if self._written is None:
            self._written = self._write()
        return self._written.ask(numbers)

    def _write(self) -> _Written[M, Row]:
        stand_ins = _STAND_INS[: self._numbers]
        rows = self._put_together(*stand_ins)
        compiler = _WrittenCompiler(rows.query, connection, rows.db)
        compiler.write()
        found = enumerate(compiler.given)
        indices = tuple((index, stand_ins.index(value)) for index, value in found if value in stand_ins)
        if {number for _index, number in indices} != set(range(self._numbers)):
            raise ValueError("a number is not a parameter of the query")
        return _Written(rows, compiler, indices)
