"""Lists in numbered pages: the rows of one page, and the numbers of the pages beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from msgspec import Struct

PER_PAGE = 30
Row = TypeVar("Row")


class ListPage(Struct, Generic[Row], frozen=True):
    """Some rows of a list, and the numbers of the other pages.

    - `query`: the filters, as the addresses of other pages go on; `parameter`: what names a page in them.
    """

    rows: tuple[Row, ...]
    number: int
    pages: int
    total: int
    query: str = ""
    parameter: str = "page"

    @classmethod
    def of(cls, cut: Page, rows: Iterable[Row], query: str = "", parameter: str = "page") -> ListPage[Row]:  # type: ignore[type-arg]  # rows of any model
        """Return the rows that present one page of a query."""
        return cls(tuple(rows), cut.number, cut.paginator.num_pages, cut.paginator.count, query, parameter)

    @property
    def before(self) -> int | None:
        """Return the previous page."""
        return self.number - 1 if self.number > 1 else None

    @property
    def after(self) -> int | None:
        """Return the next page."""
        return self.number + 1 if self.number < self.pages else None


def cut_page(rows: QuerySet | Sequence[object], number: object, per_page: int = PER_PAGE) -> Page:  # type: ignore[type-arg]  # any rows
    """Return the page with a number, or the last page; the first one for what is no number."""
    return Paginator(rows, per_page).get_page(number)  # type: ignore[arg-type]  # it takes anything


def keep_query(**values: str | int) -> str:
    """Return filters and pages of other lists as the address of a page goes on, without empty texts and first pages."""
    kept = {name: value for name, value in values.items() if value not in ("", 1)}
    return f"&{urlencode(kept)}" if kept else ""
