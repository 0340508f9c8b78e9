"""Queries whose SQL is written once: writing it takes Django longer than answering a small query takes the database.

They are for what every page or use case asks. From one time to the next only their parameters differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from inspect import signature
from typing import Generic, TypeAlias, TypeVar

from django.db import connections, models, transaction
from django.db.models.expressions import Expression
from django.db.models.query import FlatValuesListIterable, ModelIterable, QuerySet, ValuesListIterable
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from msgspec import Struct

M = TypeVar("M", bound=models.Model)
Row = TypeVar("Row")
# The SQL is written with these numbers, which no query contains otherwise; each of them marks the index of a parameter.
_STAND_INS = tuple(range(1_908_472_651, 1_908_472_655))
# Databases hold smaller integers only, so no row has this number or a larger one.
_MOST = 2**63
_ITERABLES = (ModelIterable, ValuesListIterable, FlatValuesListIterable)
Parameter: TypeAlias = str | int
_Converter: TypeAlias = Callable[..., object]


class _WrittenCompiler(SQLCompiler):
    """A compiler that writes its SQL once, and returns it whenever it is asked."""

    sql: str
    given: tuple[Parameter, ...]
    # The columns whose values Django converts; asking each column of a row takes longer than the database does.
    converted: tuple[int, ...]

    def write(self) -> None:
        """Write the SQL, and keep it with its parameters."""
        self.sql, self.given = super().as_sql()
        self.converted = tuple(super().get_converters([column for column, *_ in self.select]))

    def as_sql(self, *_: object, **__: object) -> tuple[str, tuple[Parameter, ...]]:
        """Return the SQL that was written; raises `TransactionManagementError` for a lock outside a transaction."""
        if self.query.select_for_update and self.connection.get_autocommit():
            raise transaction.TransactionManagementError("a lock needs a transaction")
        return self.sql, self.given

    def get_converters(self, expressions: Sequence[Expression]) -> dict[int, tuple[list[_Converter], Expression]]:
        """Return the conversions of this connection, by column."""
        found = super().get_converters([expressions[column] for column in self.converted])
        return {self.converted[index]: conversions for index, conversions in found.items()}


class _WrittenQuery(Query):
    """A query that uses the compiler it was given."""

    written: SQLCompiler

    def get_compiler(self, *_: object, **__: object) -> SQLCompiler:
        """Return the compiler of this query."""
        return self.written


class _Written(Struct, Generic[M, Row], frozen=True):
    """A query with its SQL; `indices` says which parameter of the SQL is which parameter of the query."""

    rows: QuerySet[M, Row]
    compiler: _WrittenCompiler
    indices: tuple[tuple[int, int], ...]

    def ask(self, parameters: tuple[Parameter, ...]) -> list[Row]:
        """Return the rows for these parameters."""
        given = list(self.compiler.given)
        for index, position in self.indices:
            given[index] = parameters[position]
        one = copy(self.compiler)
        # `connection` is a proxy: it looks the connection up for each of the hundreds of attributes that a query reads.
        one.connection, one.given = connections[self.rows.db], tuple(given)
        query = _WrittenQuery(self.rows.model)
        query.written = one
        asked: QuerySet[M, Row] = QuerySet(self.rows.model, query=query)
        asked._iterable_class = self.rows._iterable_class
        return list(asked)


class WrittenQuery(Generic[M, Row]):
    """A query whose SQL is written when it is asked for the first time.

    - `put_together` returns the query for its parameters, which are numbers or texts. It is called once, with
      stand-ins, and must not make choices by them. Nothing is prefetched.
    """

    def __init__(self, put_together: Callable[..., QuerySet[M, Row]]) -> None:
        self._put_together = put_together
        self._written: _Written[M, Row] | None = None

    def ask(self, *parameters: Parameter) -> list[Row]:
        """Return all rows for these parameters; none for a number that no row can have."""
        if any(isinstance(one, int) and not -_MOST <= one < _MOST for one in parameters):
            return []
        if self._written is None:
            self._written = self._write()
        return self._written.ask(parameters)

    def find(self, *parameters: Parameter) -> Row | None:
        """Return the first row for these parameters, None when there is none."""
        return next(iter(self.ask(*parameters)), None)

    def _write(self) -> _Written[M, Row]:
        count = len(signature(self._put_together).parameters)
        stand_ins = {str(one): position for position, one in enumerate(_STAND_INS[:count])}
        rows = self._put_together(*map(int, stand_ins))
        compiler = _WrittenCompiler(rows.query, connections[rows.db], rows.db)
        compiler.write()
        # A column of text turns its stand-in into text.
        found = ((index, stand_ins.get(str(value))) for index, value in enumerate(compiler.given))
        indices = tuple((index, position) for index, position in found if position is not None)
        is_inside = any(one in compiler.sql for one in stand_ins)  # as the number of rows of a slice
        if is_inside or {position for _index, position in indices} != set(range(count)):
            raise ValueError("a stand-in is not a parameter of the SQL")
        if rows._iterable_class not in _ITERABLES:
            raise ValueError("rows of this form are named by a query, which is not kept")
        return _Written(rows, compiler, indices)
