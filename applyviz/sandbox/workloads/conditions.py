"""Read and write the conditions of a status as controllers do.

Rule: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties:
`lastTransitionTime` changes with the status of a condition only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject


def find(conditions: Sequence[JSONObject] | None, kind: str) -> JSONObject | None:
    """Return the condition of a type, None if there is none."""
    return next((c for c in conditions or () if c.get("type") == kind), None)


def is_true(obj: JSONObject, kind: str) -> bool:
    """Return whether a condition of an object is true."""
    found = find((obj.get("status") or {}).get("conditions"), kind)
    return found is not None and found.get("status") == "True"


def without(conditions: Sequence[JSONObject] | None, kind: str) -> list[JSONObject]:
    """Return all conditions but one."""
    return [c for c in conditions or () if c.get("type") != kind]


def set_condition(conditions: Sequence[JSONObject] | None, fresh: JSONObject) -> list[JSONObject]:
    """Return the conditions with a new one at its place, or at the end; its transition time stays with its status."""
    entries = find(conditions, str(fresh["type"]))
    if entries is None:
        return [*(conditions or ()), fresh]
    if entries.get("status") == fresh.get("status"):
        fresh = {**fresh, "lastTransitionTime": entries.get("lastTransitionTime")}
    return [fresh if c is entries else c for c in conditions or ()]


def without_zeros(values: Mapping[str, JSONValue], *kept: str) -> MutableObject:
    """Return a status without zeros and empty lists, which Go omits; `kept` are written always."""
    return {name: value for name, value in values.items() if name in kept or value not in (0, None, "", [])}
