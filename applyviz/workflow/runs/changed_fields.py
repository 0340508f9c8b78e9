"""What a write changed, for its audit entry: field, value before and value after, masked.

So the history answers who changed what, from what to what, without the plan beside it, and its full text finds paths
and values. Entries about Secrets that are compared with live hold none of it: equal marks would answer a guess.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.live_values import is_compared

MOST_FIELDS = 60
_LONGEST = 200
_TOLD = frozenset({FieldOperation.SET.value, FieldOperation.CHANGED.value, FieldOperation.CLEARED.value})
_WRITTEN = (Outcome.VERIFIED, Outcome.DIFFERS)


def _show(version: JSONObject | None, path: FieldPath) -> str:
    value: JSONValue = ABSENT if version is None else find_value(version, path)
    text = "" if value is ABSENT else changes.show_value(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def describe_changed_fields(row: ObjectChange, masked: PlannedObject, outcome: Outcome) -> dict[str, Any]:
    """Return {changes: [{path, before, after}]} for a write that was carried out, else {}; `more` counts the rest.

    - `masked` is the change of the row as it may be shown.
    """
    if outcome not in _WRITTEN or is_compared(row) or masked.operation is Operation.PRUNE:
        return {}
    fields = [one for one in row.document.get("fields", ()) if one.get("operation") in _TOLD]
    after = masked.versions.after or masked.versions.merged
    before = None if masked.operation is Operation.REPLACE else masked.versions.live
    paths: list[FieldPath] = [tuple(one["path"]) for one in fields[:MOST_FIELDS]]
    told = [{"path": render_path(path), "before": _show(before, path), "after": _show(after, path)} for path in paths]
    more = len(fields) - len(told)
    return {"changes": told, **({"more": more} if more > 0 else {})} if told else {}
