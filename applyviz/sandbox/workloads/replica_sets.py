"""The controller of ReplicaSets: as many Pods as `replicas`, and the status that counts them.

Rule: k8s.io/kubernetes `pkg/controller/replicaset`.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient
from applyviz.sandbox.workloads.pod_sets import (
    PodTally,
    choose_surplus,
    create_pod,
    delete_pod,
    make_pod,
    tally_pods,
)

_COMPONENT = "replicaset-controller"


def reconcile_replica_set(client: ControllerClient, key: ObjectKey, replica_set: JSONObject) -> float | None:
    """Create or delete Pods, and write the status; return when to look again, None when something changes."""
    failure = None if is_deleted(replica_set) else _scale(client, replica_set)
    tally = tally_pods(client, replica_set)
    status = _count(replica_set, tally)
    stored = get_at(replica_set, ("status", "conditions")) or []
    fresh = conditions.without(stored, "ReplicaFailure")
    if failure is not None:
        fresh = conditions.set_condition(stored, _describe_failure(failure, client.now()))
    if fresh:
        status["conditions"] = fresh
    client.write_status(key, status)
    return tally.wait


def _scale(client: ControllerClient, replica_set: JSONObject) -> StatusError | None:
    """Reach the number of Pods; return why a Pod could not be created."""
    tally = tally_pods(client, replica_set)
    missing = replica_set["spec"].get("replicas", 1) - len(tally)
    try:
        for _ in range(missing):
            create_pod(client, replica_set, make_pod(replica_set, replica_set["spec"]["template"]), _COMPONENT)
    except StatusError as error:
        return error
    for pod in choose_surplus(tally.pods, max(-missing, 0)):
        delete_pod(client, replica_set, pod, _COMPONENT)
    return None


def _count(replica_set: JSONObject, tally: PodTally) -> MutableObject:
    labels = get_at(replica_set, ("spec", "template", "metadata", "labels")) or {}
    labeled = sum(1 for _, pod in tally.pods if labels.items() <= (pod["metadata"].get("labels") or {}).items())
    values = {
        "replicas": len(tally),
        "fullyLabeledReplicas": labeled,
        "readyReplicas": tally.ready,
        "availableReplicas": tally.available,
        "terminatingReplicas": tally.terminating,
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    return conditions.without_zeros(values, "replicas", "terminatingReplicas")


def _describe_failure(error: StatusError, now: str) -> JSONObject:
    return {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "FailedCreate",
        "message": error.message,
    }
