"""Reading many rows page by page: no cursor stays open in between, so that slow readers hold no resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
PAGE = 250


def by_number(rows: QuerySet[Row]) -> Iterator[Row]:
    """Yield all rows in the order of their primary key, including rows that are added meanwhile."""
    ordered = rows.order_by("pk")
    page = list(ordered[:PAGE])
    while page:
        yield from page
        page = list(ordered.filter(pk__gt=page[-1].pk)[:PAGE])
