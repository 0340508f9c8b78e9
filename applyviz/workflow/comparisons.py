"""Comparing two plans of a review: which objects do something else, and what moved in each.

Objects are compared by the keyed hash of their effect first; only those that differ are read. Masks are made
under a key per plan, so what holds any is masked anew under one key: equal secrets must not look moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.planning import plan as engine
from applyviz.engine.planning.comparison import ObjectMove, compare_changes
from applyviz.engine.planning.masked import mask_change
from applyviz.engine.schema.builtin import bundled
from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan, Review
from applyviz.workflow.access import Visitor
from applyviz.workflow.changes import open_sealed, read_masked, ref_of
from applyviz.workflow.errors import NotVisibleError
from applyviz.workflow.plans import get_plan

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Differing:
    """The rows of one object that does something else; None where a plan does not have it.

    - `row` is that of the second plan, else that of the first.
    """

    row: ObjectChange
    first: ObjectChange | None
    second: ObjectChange | None


def _gather(rows: Iterable[ObjectChange]) -> dict[_Key, list[ObjectChange]]:
    found: dict[_Key, list[ObjectChange]] = {}
    for row in rows:
        found.setdefault(ref_of(row).key, []).append(row)
    return found


def find_differing(first: Plan, second: Plan) -> tuple[Differing, ...]:
    """The objects that the second plan does something else with, in its order; those it lacks come last."""
    if first.digest and first.digest == second.digest:
        return ()
    waiting = _gather(first.changes.defer("document", "sealed").order_by("position"))
    found = []
    for row in second.changes.defer("document", "sealed").order_by("position"):
        same = waiting.get(ref_of(row).key)
        before = same.pop(0) if same else None
        if before is None or before.effect != row.effect:
            found.append(Differing(row, before, row))
    return (*found, *(Differing(row, row, None) for left in waiting.values() for row in left))


def _read_alike(row: ObjectChange | None, tag_key: bytes) -> engine.ObjectChange | None:
    if row is None:
        return None
    masked = read_masked(row)
    return mask_change(open_sealed(row), tag_key=tag_key) if is_masked(row.document) else masked


def compare_object(differing: Differing, *, tag_key: bytes) -> ObjectMove | None:
    """What moved for one object; every secret of it is masked under that key."""
    first, second = (_read_alike(row, tag_key) for row in (differing.first, differing.second))
    return compare_changes(first, second, kind=bundled().find_kind(ref_of(differing.row).gvk))


def choose_plans(review: Review, *, first: int | None, second: int | None, for_user: Visitor) -> tuple[Plan, Plan]:
    """The two plans that are asked for, or the latest complete one and the one before it.

    - Raises `NotVisibleError` when the review has no such plans, or one is not complete.
    """
    complete = review.plans.filter(state=PlanState.COMPLETE).order_by("-number")
    numbers = list(complete.values_list("number", flat=True))
    second = second or (numbers[0] if numbers else 0)
    first = first or next((n for n in numbers if n < second), 0)
    if first not in numbers or second not in numbers:
        raise NotVisibleError(f"review {review.number} has no two complete plans to compare")
    return (
        get_plan(first, review_number=review.number, for_user=for_user),
        get_plan(second, review_number=review.number, for_user=for_user),
    )
