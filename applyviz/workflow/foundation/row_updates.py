"""Updates of many rows, each with different values.

Django writes such updates as one expression per row and column, which costs more than all values together; a prepared
statement that is executed per row costs nothing of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections, models, router


def update_rows(rows: Sequence[models.Model], names: Sequence[str]) -> None:
    """Store these fields of stored rows of one model; runs in the transaction of the caller."""
    if not rows:
        return
    model = type(rows[0])
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    fields = [field for field in model._meta.concrete_fields if field.name in names]
    key = model._meta.pk
    assigned = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    statement = f"UPDATE {quote(model._meta.db_table)} SET {assigned} WHERE {quote(str(key.column))} = %s"  # noqa: S608 names of columns
    values = [
        [field.get_db_prep_save(getattr(row, field.attname), connection=connection) for field in (*fields, key)]
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)
