"""Read from an object alone whether it has reached its desired state.

Rule: the status conventions of https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus: an old
observedGeneration is in progress, a deletion timestamp is terminating, and each built-in kind has its own sign of
completion. Other kinds are read by their Ready, Reconciling and Stalled conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.readiness import conditions, workloads


class State(StrEnum):
    """The readiness of an object."""

    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    UNKNOWN = "Unknown"


class ReadinessStatus(Struct, frozen=True):
    """A state, and one sentence that gives the reason."""

    state: State
    message: str = ""


Finding = tuple[str, str]
Reader = Callable[[JSONObject], Finding]
_READERS: Mapping[tuple[str, str], Reader] = {
    ("apps", "Deployment"): workloads.read_deployment,
    ("apps", "StatefulSet"): workloads.read_stateful_set,
    ("apps", "DaemonSet"): workloads.read_daemon_set,
    ("apps", "ReplicaSet"): workloads.read_replica_set,
    ("batch", "Job"): workloads.read_job,
    ("", "Pod"): workloads.read_pod,
    ("", "PersistentVolumeClaim"): conditions.read_claim,
    ("", "Service"): conditions.read_service,
    NAMESPACE: conditions.read_namespace,
    ("policy", "PodDisruptionBudget"): conditions.read_budget,
    CRD: conditions.read_definition,
}


def _is_observed(obj: JSONObject) -> bool:
    observed = get_at(obj, ("status", "observedGeneration"))
    generation = get_at(obj, ("metadata", "generation"))
    return observed is None or generation is None or observed >= generation


def read_status(obj: JSONObject | None) -> ReadinessStatus:
    """Return the readiness of an object; None stands for an object that does not exist (any more)."""
    if obj is None:
        return ReadinessStatus(State.UNKNOWN, "not found")
    if get_at(obj, ("metadata", "deletionTimestamp")):
        return ReadinessStatus(State.TERMINATING, "is being deleted")
    if not _is_observed(obj):
        return ReadinessStatus(State.IN_PROGRESS, "the controller has not seen the latest change yet")
    gvk = GroupVersionKind.from_object(obj)
    reader = _READERS.get((gvk.group, gvk.kind), conditions.read_generic)
    state, message = reader(obj)
    return ReadinessStatus(State(state), message)
