"""One row of those that a person may see."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Manager, Model, QuerySet

from applyviz.workflow.foundation.errors import NotVisibleError

_Row = TypeVar("_Row", bound=Model)


def get_visible(rows: QuerySet[_Row] | Manager[_Row], missing: str, **values: object) -> _Row:
    """Return the row with these values; raises `NotVisibleError` with the text `missing`."""
    found = rows.filter(**values).first()
    if found is None:
        raise NotVisibleError(missing)
    return found
