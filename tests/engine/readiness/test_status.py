"""Is an object's state what its status says?"""

from __future__ import annotations

import pytest

from applyviz.engine.readiness.status import State, read_status


def obj(api_version: str, kind: str, spec=None, status=None, **metadata):
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}, "status": status or {}}


def condition(name: str, status: str = "True", **more):
    return {"conditions": [{"type": name, "status": status, **more}]}


def deployment(spec=None, **status):
    return obj("apps/v1", "Deployment", {"replicas": 2, **(spec or {})}, status)


FULL = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}
SETS = {"replicas": 2, "readyReplicas": 2, "currentRevision": "a", "updateRevision": "a"}
DAEMON = {
    "desiredNumberScheduled": 2,
    "currentNumberScheduled": 2,
    "updatedNumberScheduled": 2,
    "numberAvailable": 2,
    "numberReady": 2,
}
CASES = [
    (deployment(**FULL), State.CURRENT, "all 2 pods are available"),
    (deployment(), State.IN_PROGRESS, "0 of 2 pods are made"),
    (deployment(**{**FULL, "updatedReplicas": 1}), State.IN_PROGRESS, "1 of 2 pods are updated"),
    (deployment(**{**FULL, "replicas": 3}), State.IN_PROGRESS, "1 old pods are left"),
    (deployment(**{**FULL, "availableReplicas": 0}), State.IN_PROGRESS, "0 of 2 pods are available"),
    (
        deployment(**condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out")),
        State.FAILED,
        "timed out",
    ),
    (deployment(**condition("ReplicaFailure", reason="FailedCreate")), State.FAILED, "FailedCreate"),
    (obj("apps/v1", "Deployment", {}, {}, generation=2), State.IN_PROGRESS, "0 of 1 pods are made"),
    (
        obj("apps/v1", "Deployment", {}, {**FULL, "observedGeneration": 1}, generation=2),
        State.IN_PROGRESS,
        "the controller has not seen the latest change yet",
    ),
    (obj("v1", "Pod", deletionTimestamp="2026-06-01T00:00:00Z"), State.TERMINATING, "is being deleted"),
    (
        obj("apps/v1", "Deployment", {"paused": True, "replicas": 3}, {"replicas": 3}),
        State.CURRENT,
        "is paused; its pods change when it is resumed",
    ),
    (obj("apps/v1", "StatefulSet", {"replicas": 2}, SETS), State.CURRENT, "all 2 pods are ready"),
    (
        obj("apps/v1", "StatefulSet", {"replicas": 2}, {**SETS, "updateRevision": "b", "updatedReplicas": 1}),
        State.IN_PROGRESS,
        "1 of 2 pods are updated",
    ),
    (
        obj("apps/v1", "StatefulSet", {"replicas": 2, "updateStrategy": {"type": "OnDelete"}}, SETS),
        State.CURRENT,
        "all 2 pods are ready; they change when they are deleted",
    ),
    (
        obj(
            "apps/v1",
            "StatefulSet",
            {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
            {**SETS, "updatedReplicas": 1},
        ),
        State.CURRENT,
        "1 pods are updated",
    ),
    (obj("apps/v1", "DaemonSet", {}, DAEMON), State.CURRENT, "all 2 pods are ready"),
    (obj("apps/v1", "DaemonSet"), State.IN_PROGRESS, "nothing is scheduled yet"),
    (
        obj("apps/v1", "DaemonSet", {}, dict.fromkeys(DAEMON, 0), generation=1),
        State.IN_PROGRESS,
        "nothing is scheduled yet",
    ),
    (
        obj("apps/v1", "DaemonSet", {}, {**DAEMON, "observedGeneration": 1}, generation=1),
        State.CURRENT,
        "all 2 pods are ready",
    ),
    (
        obj("apps/v1", "DaemonSet", {}, {**DAEMON, "updatedNumberScheduled": 1}),
        State.IN_PROGRESS,
        "1 of 2 pods are updated",
    ),
    (
        obj("apps/v1", "DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, {**DAEMON, "updatedNumberScheduled": 0}),
        State.CURRENT,
        "all 2 pods are ready",
    ),
    (obj("apps/v1", "ReplicaSet", {"replicas": 2}, FULL), State.CURRENT, "all 2 pods are available"),
    (obj("apps/v1", "ReplicaSet", {}, condition("ReplicaFailure")), State.FAILED, "pods cannot be made"),
    (obj("batch/v1", "Job", {}, condition("Complete")), State.CURRENT, "is complete"),
    (obj("batch/v1", "Job", {}, condition("Failed", message="too often")), State.FAILED, "too often"),
    (obj("batch/v1", "Job", {}, condition("Suspended")), State.CURRENT, "is suspended"),
    (obj("batch/v1", "Job", {}, {"startTime": "t", "active": 1}), State.CURRENT, "is running, 1 pods active"),
    (obj("batch/v1", "Job"), State.IN_PROGRESS, "has not started yet"),
    (obj("v1", "Pod", {}, {"phase": "Running", **condition("Ready")}), State.CURRENT, "is ready"),
    (obj("v1", "Pod", {}, {"phase": "Succeeded"}), State.CURRENT, "has succeeded"),
    (obj("v1", "Pod", {}, {"phase": "Failed", "message": "evicted"}), State.FAILED, "evicted"),
    (
        obj(
            "v1",
            "Pod",
            {},
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"name": "b", "state": {"waiting": {"reason": "ContainerCreating"}}},
                    {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                ],
            },
        ),
        State.FAILED,
        "container c: ImagePullBackOff",
    ),
    (
        obj("v1", "Pod", {}, {"phase": "Pending", **condition("PodScheduled", "False", message="no node fits")}),
        State.IN_PROGRESS,
        "no node fits",
    ),
    (obj("v1", "Pod", {}, {"phase": "Pending"}), State.IN_PROGRESS, "is starting"),
    (obj("v1", "PersistentVolumeClaim", {}, {"phase": "Bound"}), State.CURRENT, "is bound"),
    (obj("v1", "PersistentVolumeClaim", {}, {"phase": "Lost"}), State.FAILED, "has lost its volume"),
    (obj("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}), State.IN_PROGRESS, "is not bound yet"),
    (obj("v1", "Service"), State.CURRENT, "is there"),
    (obj("v1", "Service", {"type": "LoadBalancer"}), State.IN_PROGRESS, "waits for its address"),
    (
        obj("v1", "Service", {"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}),
        State.CURRENT,
        "has its address",
    ),
    (obj("v1", "Namespace", {}, {"phase": "Active"}), State.CURRENT, "is active"),
    (obj("v1", "Namespace", {}, {"phase": "Terminating"}), State.IN_PROGRESS, "is terminating"),
    (
        obj("policy/v1", "PodDisruptionBudget", {}, {"currentHealthy": 1, "desiredHealthy": 2}),
        State.IN_PROGRESS,
        "1 of 2 needed pods are healthy",
    ),
    (obj("policy/v1", "PodDisruptionBudget"), State.CURRENT, "0 of 0 needed pods are healthy"),
    (
        obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, condition("Established")),
        State.CURRENT,
        "is established",
    ),
    (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition"), State.IN_PROGRESS, "is not established yet"),
    (
        obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, condition("NamesAccepted", "False")),
        State.FAILED,
        "its names are taken",
    ),
    (obj("v1", "ConfigMap"), State.CURRENT, "is there"),
    (obj("example.org/v1", "Thing", {}, condition("Ready")), State.CURRENT, "is ready"),
    (obj("example.org/v1", "Thing", {}, condition("Ready", "False", message="later")), State.IN_PROGRESS, "later"),
    (obj("example.org/v1", "Thing", {}, condition("Reconciling")), State.IN_PROGRESS, "is being reconciled"),
    (obj("example.org/v1", "Thing", {}, condition("Stalled", reason="NoWay")), State.FAILED, "NoWay"),
]


@pytest.mark.parametrize(("found", "state", "message"), CASES)
def test_status(found, state, message):
    status = read_status(found)

    assert (status.state, status.message) == (state, message)


def test_object_that_is_not_there_is_unknown():
    assert read_status(None).state is State.UNKNOWN
