"""Comparison of two plans of a review: objects whose effect differs, and what changed in each.

Objects are compared by the keyed hash of their effect first; only those that differ are read. Each plan masks with its
own key. Objects with masked values are therefore masked again with one key by a worker, so that equal secrets do not
look different. Objects without masked values are compared as displayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from applyviz.engine.diff.masking import MaskPolicy, is_masked
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.comparison import FieldMove, ObjectMove, Pair, compare_changes
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.walk import MISSING
from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange, Plan, Review
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.changes import open_sealed, read_masked, ref_of
from applyviz.workflow.plans.planner import get_plan

_Key = tuple[str, str, str, str]
_PAIRS = ("manifest", "live", "after")
MOST_DETAILED = 40
"""The largest number of objects whose differences are listed."""


class Differing(Struct, frozen=True):
    """The rows of one object whose effect differs; None where a plan does not have it.

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
    """Return the objects whose effect differs, in the order of the second plan; those it lacks come last."""
    if first.digest and first.digest == second.digest:
        return ()
    waiting = _gather(first.changes.defer("document", "found_risks", "sealed").order_by("position"))
    found = []
    for row in second.changes.defer("document", "found_risks", "sealed").order_by("position"):
        same = waiting.get(ref_of(row).key)
        before = same.pop(0) if same else None
        if before is None or before.effect != row.effect:
            found.append(Differing(row, before, row))
    return (*found, *(Differing(row, row, None) for left in waiting.values() for row in left))


def name_of(differing: Differing) -> str:
    """Return a name of the object within its two plans; a source may name an object twice."""
    return f"{'second' if differing.second is not None else 'first'}:{differing.row.position}"


def holds_secrets(differing: Differing) -> bool:
    """Return whether a value of the object is masked in either plan, so that only a worker can compare it."""
    return any(is_masked(row.document) for row in (differing.first, differing.second) if row is not None)


def _compare(
    differing: Differing, first: engine.PlannedObject | None, second: engine.PlannedObject | None
) -> ObjectMove | None:
    return compare_changes(first, second, kind=bundled().find_kind(ref_of(differing.row).gvk))


def compare_masked(differing: Differing) -> ObjectMove | None:
    """Return what changed for one object without masked values."""
    first, second = (None if row is None else read_masked(row) for row in (differing.first, differing.second))
    return _compare(differing, first, second)


def _open_alike(row: ObjectChange | None, tag_key: bytes, policy: MaskPolicy) -> engine.PlannedObject | None:
    return None if row is None else mask_change(open_sealed(row), tag_key=tag_key, policy=policy)


def compare_secrets(first: Plan, second: Plan) -> JSONObject:
    """Return what changed for each object with masked values, by `name_of`, as JSON for `read_move`; decrypts."""
    # Each plan keeps the settings of its creation: what one of them masks is not shown beside the other.
    policy = masking_settings.policy_of(second).join(masking_settings.policy_of(first))
    key = second.tag_key.open_bytes(), policy
    found: dict[str, JSONValue] = {}
    for one in find_differing(first, second)[:MOST_DETAILED]:
        if holds_secrets(one):
            move = _compare(one, _open_alike(one.first, *key), _open_alike(one.second, *key))
            found[name_of(one)] = None if move is None else _write_move(move)
    return found


def _write_side(value: JSONValue) -> list[JSONValue]:
    return [] if value is MISSING else [value]


def _write_field(move: FieldMove) -> JSONObject:
    pairs: dict[str, Pair | None] = {name: getattr(move, name) for name in _PAIRS}
    written = {n: [_write_side(pair.first), _write_side(pair.second)] for n, pair in pairs.items() if pair is not None}
    return {**to_json(replace(move, manifest=None, live=None, after=None)), **written}


def _write_move(move: ObjectMove) -> JSONObject:
    return {**to_json(replace(move, fields=())), "fields": [_write_field(one) for one in move.fields]}


def _read_field(data: JSONObject) -> FieldMove:
    move = from_json(FieldMove, {name: value for name, value in data.items() if name not in _PAIRS})
    pairs: dict[str, Any] = {
        name: Pair(*(side[0] if side else MISSING for side in data[name])) for name in _PAIRS if name in data
    }
    return replace(move, **pairs)


def read_move(data: JSONObject | None) -> ObjectMove | None:
    """Read a move that `compare_secrets` wrote."""
    if data is None:
        return None
    move = from_json(ObjectMove, {name: value for name, value in data.items() if name != "fields"})
    return replace(move, fields=tuple(_read_field(one) for one in data["fields"]))


def choose_plans(review: Review, *, first: int | None, second: int | None, for_user: Visitor) -> tuple[Plan, Plan]:
    """Return the two requested plans, or the latest complete plan and the one before it.

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
