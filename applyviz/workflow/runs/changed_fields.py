"""List the fields that a write changed, for its audit entry: path, value before and value after, masked.

So the history answers who changed what, from what to what, without the plan beside it, and its full text finds paths
and values. Entries about Secrets that are compared with live hold none of it: equal marks would answer a guess.
"""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.known_names import SERVER_WRITTEN
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.plans import changes

MOST_FIELDS = 60
_LONGEST = 200
_CHANGING = frozenset({FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED})
_WRITTEN = (Outcome.VERIFIED, Outcome.DIFFERS)


def _show(version: JSONObject | None, path: FieldPath) -> str:
    value: JSONValue = ABSENT if version is None else find_value(version, path)
    text = "" if value is ABSENT else changes.show_value(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _is_of_server(path: FieldPath) -> bool:
    first = render_path(path[:2]).split(".")[1:]
    return first[:1] == ["status"] or (first[:1] == ["metadata"] and first[-1] in SERVER_WRITTEN)


def describe_changed_fields(row: ObjectChange, masked: PlannedObject, outcome: Outcome) -> dict[str, JSONValue]:
    """Return {changes: [{path, before, after}]} for a write that was carried out, else {}; `more` counts the rest.

    - `masked` is the change of the row as it may be shown.
    """
    if outcome not in _WRITTEN or is_compared(row) or masked.operation.is_deletion:
        return {}
    found = [path for path in changes.list_paths(row, _CHANGING) if not _is_of_server(path)]
    after = masked.versions.after or masked.versions.merged
    before = None if masked.operation is Operation.REPLACE else masked.versions.live
    shown = found[:MOST_FIELDS]
    listed = [{"path": render_path(path), "before": _show(before, path), "after": _show(after, path)} for path in shown]
    more = len(found) - len(listed)
    return {"changes": listed, **({"more": more} if more > 0 else {})} if listed else {}
