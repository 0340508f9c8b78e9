"""Inserts and updates of many rows, each with different values.

Django writes such updates as one expression per row and column, which costs more than all values together; a prepared
statement that is executed per row costs nothing of that. For inserts it prepares each value in several calls; texts and
numbers, which most columns hold, need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

_Value: TypeAlias = "str | int | bytes | None"
_PLAIN_FIELDS = (models.CharField, models.TextField, models.IntegerField)
_PLAIN = frozenset({str, int, type(None)})


def _prepare(
    row: models.Model, fields: Sequence[models.Field[object, object]], connection: BaseDatabaseWrapper
) -> list[_Value]:
    """Return the values of a row for the database."""
    values = ((field, getattr(row, field.attname)) for field in fields)
    return [
        value
        if type(value) in _PLAIN and isinstance(field, _PLAIN_FIELDS)
        else field.get_db_prep_save(value, connection=connection)
        for field, value in values
    ]


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Store new rows of one model and give them their keys; runs in the transaction of the caller.

    - Sets no times, and sends no signals, as `bulk_create` does not.
    """
    if not rows:
        return
    model = type(rows[0])
    alias = router.db_for_write(model)
    connection = connections[alias]
    quote = connection.ops.quote_name
    key = model._meta.pk
    fields = [field for field in model._meta.concrete_fields if field is not key]
    names = ", ".join(quote(str(field.column)) for field in fields)
    begin = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES "  # noqa: S608 names of columns
    places = f"({', '.join(['%s'] * len(fields))})"
    size = max(1, connection.ops.bulk_batch_size(fields, rows))
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            statement = f"{begin}{', '.join([places] * len(some))} RETURNING {quote(str(key.column))}"
            cursor.execute(statement, [*chain.from_iterable(_prepare(row, fields, connection) for row in some)])
            for row, (number,) in zip(some, cursor.fetchall(), strict=True):
                row.pk, row._state.adding, row._state.db = number, False, alias


def update_rows(rows: Sequence[models.Model], names: Sequence[str]) -> None:
    """Store these fields of stored rows of one model; runs in the transaction of the caller."""
    if not rows:
        return
    model = type(rows[0])
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    key = model._meta.pk
    fields = [*(field for field in model._meta.concrete_fields if field.name in names), key]
    assigned = ", ".join(f"{quote(str(field.column))} = %s" for field in fields[:-1])
    statement = f"UPDATE {quote(model._meta.db_table)} SET {assigned} WHERE {quote(str(key.column))} = %s"  # noqa: S608 names of columns
    values = [_prepare(row, fields, connection) for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)
