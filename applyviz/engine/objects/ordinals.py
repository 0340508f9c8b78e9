"""The numbers of the pods of a StatefulSet.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#ordinal-index. They begin at
`spec.ordinals.start`, 0 without one, and there are as many as `spec.replicas`, 1 without it.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at


def _read_count(value: JSONValue, default: int) -> int:
    if value is None:
        return default
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def read_ordinals(obj: JSONObject) -> range:
    """Return the numbers of the pods that a StatefulSet wants; a value that is no number counts as 0."""
    first = _read_count(get_at(obj, ("spec", "ordinals", "start")), 0)
    return range(first, first + max(_read_count(get_at(obj, ("spec", "replicas")), 1), 0))


def find_common(one: range, other: range) -> range:
    """Return the numbers that are in both."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def list_missing(before: range, after: range) -> tuple[range, ...]:
    """Return the rows of numbers that are in the first and not in the second; they may be too many to list."""
    common = find_common(before, after)
    rows = (range(before.start, common.start), range(common.stop, before.stop)) if common else (before,)
    return tuple(row for row in rows if row)
