"""The next number of a review, plan or run, assigned under the lock of audit entries."""

from __future__ import annotations

from django.db.models import Max, Model, QuerySet

from applyviz.records.models import ChainEnd


def next_number(rows: QuerySet[Model]) -> int:
    """Return the greatest number among `rows` plus one; call it inside a transaction."""
    ChainEnd.objects.get_or_create(chain=0)
    ChainEnd.objects.select_for_update().get(chain=0)
    greatest: int | None = rows.aggregate(greatest=Max("number"))["greatest"]
    return (greatest or 0) + 1
