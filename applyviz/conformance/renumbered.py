"""Whether pods of a StatefulSet go because it counts from another number, as facts; nothing here asks a rule.

Rule: the StatefulSet controller (`pkg/controller/statefulset`) asks of each pod that exists whether its number is one
of those that the set wants now.
"""

from __future__ import annotations

from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation, PlannedObject


def renumbers_pods(planned: Planned) -> bool:
    """Return whether an update makes a live StatefulSet count from another number, so that one of its pods goes.

    - All pods of a StatefulSet that is deleted and created again go, whatever their numbers are.
    """
    versions, change = planned.change.versions, planned.change
    is_updated = change.has_effect and change.operation is not Operation.REPLACE
    is_written = is_updated and versions.live is not None and versions.after is not None
    if (change.ref.gvk.group, change.ref.gvk.kind) != ("apps", "StatefulSet") or not is_written:
        return False
    before, after = (_read(obj or {}) for obj in (versions.live, versions.after))
    return before[0] != after[0] and loses_pods(versions.live, versions.after)


def loses_pods(live: JSONObject | None, after: JSONObject | None) -> bool:
    """Return whether a pod of a live StatefulSet has a number that it does not want afterwards."""
    return count_staying(live, after) < _read(live or {})[1]


def name_deleted(change: PlannedObject) -> str:
    """Return the pods of a StatefulSet that go, those of neighboring numbers by the first and the last of them."""
    (first, count), (start, wanted) = (_read(obj or {}) for obj in (change.versions.live, change.versions.after))
    kept = range(start, start + wanted)
    rows = [(first, min(first + count, start) - 1), (max(first, start + wanted), first + count - 1)]
    if first + count <= start or first >= start + wanted:
        rows = [(first, first + count - 1)]
    gone = [(low, high) for low, high in rows if low <= high and low not in kept]
    names = [[f"{change.ref.name}-{number}" for number in dict.fromkeys(row)] for row in gone]
    return ", ".join(" to ".join(row) for row in names)


def count_staying(live: JSONObject | None, after: JSONObject | None) -> int:
    """Return how many pods of a live StatefulSet have a number that it wants afterwards too."""
    before, now = (_read(obj or {}) for obj in (live, after))
    return max(0, min(sum(before), sum(now)) - max(before[0], now[0]))


def leaves_all(live: JSONObject | None, after: JSONObject | None, partition: int) -> bool:
    """Return whether a partition of a StatefulSet leaves every pod alone that stays; it counts from the first."""
    before, now = (_read(obj or {}) for obj in (live, after))
    return 0 < count_staying(live, after) <= now[0] + partition - max(before[0], now[0])


def _read(obj: JSONObject) -> tuple[int, int]:
    """Return the first number of a StatefulSet, and how many there are; the server has stored both as numbers."""
    spec = obj.get("spec") or {}
    ordinals, count = spec.get("ordinals") or {}, spec.get("replicas")
    return ordinals.get("start") or 0, 1 if count is None else count
