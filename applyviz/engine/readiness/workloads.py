"""Read the progress of a rollout from the counts in the status of a workload.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status and what `kubectl rollout
status` waits for.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.readiness.conditions import (
    CURRENT,
    FAILED,
    IN_PROGRESS,
    find_condition,
    find_message,
    is_condition,
    read_count,
)

# Kinds that create pods, so that being stored is not being done.
ROLLED_OUT = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod")
_STUCK = ("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError")


def _wanted(obj: JSONObject) -> int:
    value = get_at(obj, ("spec", "replicas"))
    return value if isinstance(value, int) else 1


def _read_counts(obj: JSONObject, wanted: int, *names: tuple[str, str]) -> tuple[str, str] | None:
    """Return in progress while one of the counts is below the desired number."""
    for name, word in names:
        if read_count(obj, name) < wanted:
            return IN_PROGRESS, f"{read_count(obj, name)} of {wanted} pods are {word}"
    return None


def read_deployment(obj: JSONObject) -> tuple[str, str]:
    """Return done when all pods are updated and available and no old ones remain; nothing is due while it is paused."""
    progressing = find_condition(obj, "Progressing") or {}
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return FAILED, find_message(obj, "Progressing", "the rollout exceeded its deadline")
    if is_condition(obj, "ReplicaFailure"):
        return FAILED, find_message(obj, "ReplicaFailure", "pods cannot be made")
    if get_at(obj, ("spec", "paused")) is True:
        return CURRENT, "is paused; its pods change when it is resumed"
    wanted = _wanted(obj)
    behind = _read_counts(obj, wanted, ("replicas", "made"), ("updatedReplicas", "updated"))
    if behind:
        return behind
    left = read_count(obj, "replicas") - read_count(obj, "updatedReplicas")
    if left > 0:
        return IN_PROGRESS, f"{left} old pods are left"
    behind = _read_counts(obj, wanted, ("availableReplicas", "available"), ("readyReplicas", "ready"))
    return behind or (CURRENT, f"all {wanted} pods are available")


def read_replica_set(obj: JSONObject) -> tuple[str, str]:
    """Return done when all pods are created, available and ready."""
    if is_condition(obj, "ReplicaFailure"):
        return FAILED, find_message(obj, "ReplicaFailure", "pods cannot be made")
    wanted = _wanted(obj)
    counts = (("replicas", "made"), ("availableReplicas", "available"), ("readyReplicas", "ready"))
    return _read_counts(obj, wanted, *counts) or (CURRENT, f"all {wanted} pods are available")


def read_stateful_set(obj: JSONObject) -> tuple[str, str]:
    """Return done when all pods are ready and at the update revision; a partition excludes lower ordinals."""
    strategy = get_at(obj, ("spec", "updateStrategy", "type"), "RollingUpdate")
    wanted = _wanted(obj)
    behind = _read_counts(obj, wanted, ("replicas", "made"), ("readyReplicas", "ready"))
    if behind or strategy == "OnDelete":
        return behind or (CURRENT, f"all {wanted} pods are ready; they change when they are deleted")
    partition = get_at(obj, ("spec", "updateStrategy", "rollingUpdate", "partition")) or 0
    if partition:
        due = max(wanted - partition, 0)
        return _read_counts(obj, due, ("updatedReplicas", "updated")) or (CURRENT, f"{due} pods are updated")
    if get_at(obj, ("status", "currentRevision")) != get_at(obj, ("status", "updateRevision")):
        return IN_PROGRESS, f"{read_count(obj, 'updatedReplicas')} of {wanted} pods are updated"
    return CURRENT, f"all {wanted} pods are ready"


def read_daemon_set(obj: JSONObject) -> tuple[str, str]:
    """Return done when every eligible node has an updated and available pod.

    - A server stores a new DaemonSet with zero counts, which say nothing until its controller has observed it.
    """
    is_seen = get_at(obj, ("status", "observedGeneration")) is not None or "generation" not in obj.get("metadata", {})
    if not is_seen or get_at(obj, ("status", "desiredNumberScheduled")) is None:
        return IN_PROGRESS, "nothing is scheduled yet"
    wanted = read_count(obj, "desiredNumberScheduled")
    counts = [("currentNumberScheduled", "scheduled"), ("numberAvailable", "available"), ("numberReady", "ready")]
    if get_at(obj, ("spec", "updateStrategy", "type")) != "OnDelete":
        counts.insert(1, ("updatedNumberScheduled", "updated"))
    return _read_counts(obj, wanted, *counts) or (CURRENT, f"all {wanted} pods are ready")


def read_job(obj: JSONObject) -> tuple[str, str]:
    """Read a Job: complete or failed by its conditions; a Job that has started has reached its desired state."""
    if is_condition(obj, "Complete"):
        return CURRENT, "is complete"
    if is_condition(obj, "Failed"):
        return FAILED, find_message(obj, "Failed", "has failed")
    if is_condition(obj, "Suspended"):
        return CURRENT, "is suspended"
    if get_at(obj, ("status", "startTime")):
        return CURRENT, f"is running, {read_count(obj, 'active')} pods active"
    return IN_PROGRESS, "has not started yet"


def _find_stuck(obj: JSONObject) -> str:
    for state in ("containerStatuses", "initContainerStatuses"):
        for container in get_at(obj, ("status", state)) or ():
            reason = get_at(container, ("state", "waiting", "reason"), "")
            if reason in _STUCK:
                return f"container {container.get('name', '')}: {reason}"
    return ""


def read_pod(obj: JSONObject) -> tuple[str, str]:
    """Read a Pod: ready or succeeded is done; a container that cannot start is a failure."""
    phase = get_at(obj, ("status", "phase"), "")
    stuck = _find_stuck(obj)
    if phase == "Succeeded":
        return CURRENT, "has succeeded"
    if phase == "Failed" or stuck:
        return FAILED, stuck or get_at(obj, ("status", "message"), "has failed")
    if phase == "Running" and is_condition(obj, "Ready"):
        return CURRENT, "is ready"
    if is_condition(obj, "PodScheduled", "False"):
        return IN_PROGRESS, find_message(obj, "PodScheduled", "is not scheduled yet")
    return IN_PROGRESS, find_message(obj, "Ready", "is starting")
