"""The rows of a complete plan without their documents, for showing pages: they never change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from django.db.models import QuerySet

from applyviz import moments
from applyviz.records.models import ObjectChange, Plan


@lru_cache(maxsize=16)
def list_rows(plan_id: int, digest: str) -> tuple[ObjectChange, ...]:
    """Return the rows of a complete plan; the digest distinguishes plans of different databases."""
    return tuple(_without_documents().filter(plan_id=plan_id, plan__digest=digest))


def _without_documents() -> QuerySet[ObjectChange]:
    return ObjectChange.objects.defer("document", "found_risks", "sealed").order_by("position")


def read_rows(plan: Plan) -> tuple[ObjectChange, ...]:
    """Return the rows of a complete plan, and keep them for what else the page asks about the plan."""
    rows = list_rows(plan.pk, plan.digest)
    moments.keep(("rows of plan", plan.pk), rows)
    return rows


def read_together(plans: Iterable[Plan]) -> None:
    """Read the rows of complete plans with one statement, and keep them for what else the page asks about the plans."""

    def read(missing: list[int]) -> dict[int, tuple[ObjectChange, ...]]:
        rows: dict[int, list[ObjectChange]] = {pk: [] for pk in missing}
        for row in _without_documents().filter(plan__in=missing):
            rows[row.plan_id].append(row)
        return {pk: tuple(found) for pk, found in rows.items()}

    moments.read_together("rows of plan", (plan.pk for plan in plans), read)


def find_kept(plan: Plan) -> Sequence[ObjectChange] | None:
    """Return the rows that the page has read already; None elsewhere: lists of plans and use cases ask the database."""
    kept: tuple[ObjectChange, ...] | None = moments.find(("rows of plan", plan.pk))
    return kept
