"""Rules of a status that a client writes: counts that fit together, and the phase of a namespace.

Rule: `Validate…StatusUpdate` of k8s.io/kubernetes `pkg/apis/apps`, `autoscaling`, `policy`, `core`; of Jobs the counts
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import NOT_NEGATIVE, FieldError, invalid

_COUNTS: Mapping[str, tuple[str, ...]] = {
    "deployments": (
        *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
        *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
    ),
    "statefulsets": (
        *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        *("observedGeneration", "collisionCount"),
    ),
    "replicasets": (
        *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
        "terminatingReplicas",
    ),
    "daemonsets": (
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
    ),
    "horizontalpodautoscalers": ("currentReplicas", "desiredReplicas"),
    "poddisruptionbudgets": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
    "jobs": ("active", "succeeded", "failed", "ready", "terminating"),
}
_OF_REPLICAS: Mapping[str, tuple[str, ...]] = {
    "deployments": ("updatedReplicas", "readyReplicas", "availableReplicas"),
    "statefulsets": ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    "replicasets": ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
}
_OF_READY = {"deployments": "readyReplicas", "statefulsets": "status.readyReplicas", "replicasets": "readyReplicas"}


def validate_status(plural: str, obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of the status of a built-in kind."""
    status = obj.get("status") or {}
    if plural == "namespaces":
        yield from _validate_phase(obj["metadata"], status)
    for name in _COUNTS.get(plural, ()):
        if (status.get(name) or 0) < 0:
            yield invalid(f"status.{name}", status[name], NOT_NEGATIVE)
    for name in _OF_REPLICAS.get(plural, ()):
        if (status.get(name) or 0) > (status.get("replicas") or 0):
            yield invalid(f"status.{name}", status.get(name) or 0, "cannot be greater than status.replicas")
    if plural in _OF_READY and (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        detail = f"cannot be greater than {_OF_READY[plural]}"
        yield invalid("status.availableReplicas", status["availableReplicas"], detail)
    if "collisionCount" in _COUNTS.get(plural, ()):
        yield from _validate_collisions(status, live.get("status") or {})


def _validate_phase(meta: JSONObject, status: JSONObject) -> Iterator[FieldError]:
    wanted, word = ("Terminating", "is not") if meta.get("deletionTimestamp") else ("Active", "is")
    if (phase := status.get("phase") or "") != wanted:
        yield invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {word} empty")


def _validate_collisions(status: JSONObject, before: JSONObject) -> Iterator[FieldError]:
    count, earlier = status.get("collisionCount"), before.get("collisionCount")
    if earlier is not None and (count is None or count < earlier):
        yield invalid("status.collisionCount", count or 0, "cannot be decremented")
