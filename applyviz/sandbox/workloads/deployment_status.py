"""The status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure.

Rule: k8s.io/kubernetes `pkg/controller/deployment/progress.go`; `kubectl rollout status` reads these conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient
from applyviz.sandbox.workloads.moments import seconds_between
from applyviz.sandbox.workloads.rollout_math import RolloutLimits, count, count_wanted

_PROGRESSING, _AVAILABLE, _FAILURE = "Progressing", "Available", "ReplicaFailure"
_DONE, _LATE, _NO_DEADLINE = "NewReplicaSetAvailable", "ProgressDeadlineExceeded", 2147483647


def write(
    client: ControllerClient,
    key: ObjectKey,
    deployment: JSONObject,
    new: JSONObject | None,
    old: Sequence[JSONObject],
    annotations: Mapping[str, str] | None = None,
) -> float | None:
    """Write the status; return the seconds until the progress deadline while it runs."""
    before, now = deployment.get("status") or {}, client.now()
    every = [*old, *([new] if new is not None else [])]
    status = _count(deployment, new, every)
    entries: list[JSONObject] = list(before.get("conditions") or ())
    entries = _replace(entries, *_judge_availability(deployment, status), now)
    entries = _write_failure(entries, [*([new] if new is not None else []), *old])
    if new is not None and conditions.find(entries, _PROGRESSING) is None:
        name = new["metadata"]["name"]
        entries = _replace(
            entries, _PROGRESSING, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"', now
        )
    status["conditions"] = _write_progress(client, deployment, status, entries, new)
    client.write_status(key, status, annotations=annotations)
    return _find_wait(client, deployment, status)


def _count(deployment: JSONObject, new: JSONObject | None, every: Sequence[JSONObject]) -> MutableObject:
    available = count(every, "availableReplicas")
    return conditions.without_zeros(
        {
            "observedGeneration": deployment["metadata"].get("generation", 0),
            "replicas": count(every, "replicas"),
            "updatedReplicas": count([new] if new is not None else [], "replicas"),
            "readyReplicas": count(every, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(count_wanted(every) - available, 0),
            "terminatingReplicas": count(every, "terminatingReplicas"),
        },
        "terminatingReplicas",
    )


def _judge_availability(deployment: JSONObject, status: JSONObject) -> tuple[str, str, str, str]:
    if status.get("availableReplicas", 0) >= RolloutLimits.of(deployment).fewest:
        return _AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    return _AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."


def _replace(
    entries: list[JSONObject], kind: str, status: str, reason: str, message: str, now: str, *, is_forced: bool = False
) -> list[JSONObject]:
    """Write a condition at the end, as the controller does; the same status and reason change nothing unless forced."""
    before = conditions.find(entries, kind)
    if before is not None and (before["status"], before["reason"]) == (status, reason) and not is_forced:
        return entries
    is_kept = before is not None and before["status"] == status
    since = before["lastTransitionTime"] if before is not None and is_kept else now
    fresh = {
        "type": kind,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*conditions.without(entries, kind), fresh]


def _write_failure(entries: list[JSONObject], sets: Sequence[JSONObject]) -> list[JSONObject]:
    """Take over why Pods cannot be created, from the new ReplicaSet first."""
    found = (conditions.find((s.get("status") or {}).get("conditions"), _FAILURE) for s in sets)
    failure = next((c for c in found if c is not None and c["status"] == "True"), None)
    if failure is None:
        return conditions.without(entries, _FAILURE)
    since = str(failure["lastTransitionTime"])
    return _replace(entries, _FAILURE, "True", str(failure["reason"]), str(failure["message"]), since)


def is_complete(deployment: JSONObject, status: JSONObject) -> bool:
    """Return whether every Pod is of the new template and available."""
    wanted = deployment["spec"].get("replicas", 1)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    is_observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return is_observed and all((status.get(name) or 0) == wanted for name in names)


def _has_deadline(deployment: JSONObject) -> bool:
    return bool(deployment["spec"].get("progressDeadlineSeconds", _NO_DEADLINE) != _NO_DEADLINE)


def _has_progressed(before: JSONObject, status: JSONObject) -> bool:
    def of(values: JSONObject, name: str) -> int:
        return int(values.get(name) or 0)

    def old(values: JSONObject) -> int:
        return of(values, "replicas") - of(values, "updatedReplicas")

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return any(of(status, name) > of(before, name) for name in grown) or old(status) < old(before)


def _write_progress(
    client: ControllerClient,
    deployment: JSONObject,
    status: JSONObject,
    entries: list[JSONObject],
    new: JSONObject | None,
) -> list[JSONObject]:
    if not _has_deadline(deployment):
        return conditions.without(entries, _PROGRESSING)
    before, now = conditions.find(entries, _PROGRESSING), client.now()
    name = (
        f'ReplicaSet "{new["metadata"]["name"]}"'
        if new is not None
        else f'Deployment "{deployment["metadata"]["name"]}"'
    )
    is_done = (
        status.get("replicas") == status.get("updatedReplicas") and before is not None and before["reason"] == _DONE
    )
    if is_done or new is None or deployment["spec"].get("paused"):
        return entries
    if is_complete(deployment, status):
        return _replace(entries, _PROGRESSING, "True", _DONE, f"{name} has successfully progressed.", now)
    if _has_progressed(deployment.get("status") or {}, status):
        return _replace(
            entries, _PROGRESSING, "True", "ReplicaSetUpdated", f"{name} is progressing.", now, is_forced=True
        )
    if _find_left(client, deployment, entries) <= 0:
        return _replace(entries, _PROGRESSING, "False", _LATE, f"{name} has timed out progressing.", now)
    return entries


def _find_left(client: ControllerClient, deployment: JSONObject, entries: Sequence[JSONObject]) -> float:
    """Return the seconds until the progress deadline; it never comes without progress before it, or after success."""
    progress = conditions.find(entries, _PROGRESSING)
    if progress is None or progress["reason"] == _DONE:
        return float("inf")
    if progress["reason"] == _LATE:
        return 0.0
    deadline = deployment["spec"]["progressDeadlineSeconds"]
    return float(deadline) - seconds_between(str(progress["lastUpdateTime"]), client.cluster.clock())


def _find_wait(client: ControllerClient, deployment: JSONObject, status: JSONObject) -> float | None:
    if not _has_deadline(deployment) or is_complete(deployment, status):
        return None
    left = _find_left(client, deployment, status.get("conditions") or ())
    return left if 0 < left < float("inf") else None
