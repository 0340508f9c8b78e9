"""The controller of DaemonSets: one Pod, because a sandbox has one node.

Rule: k8s.io/kubernetes `pkg/controller/daemon`: an old Pod is deleted before the new one is created.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.bodies import TEMPLATE_GENERATION
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient
from applyviz.sandbox.workloads.pod_sets import choose_surplus, create_pod, delete_pod, make_pod, tally_pods
from applyviz.sandbox.workloads.pods import NODE
from applyviz.sandbox.workloads.revisions import ensure_revision, forget_revisions

_COMPONENT, _HASH = "daemonset-controller", "controller-revision-hash"
_PRESSURES = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def reconcile_daemon_set(client: ControllerClient, key: ObjectKey, owner: JSONObject) -> float | None:
    """Take one step and write the status; return when to look again, None when something changes."""
    fresh, revisions = ensure_revision(client, owner, _HASH)
    digest = str(get_at(fresh, ("metadata", "labels", _HASH)))
    if not is_deleted(owner):
        _step(client, owner, digest)
    forget_revisions(client, owner, revisions, {fresh["metadata"]["name"]})
    return _write_status(client, key, owner, digest)


def _step(client: ControllerClient, owner: JSONObject, digest: str) -> None:
    tally = tally_pods(client, owner)
    if not len(tally):
        if not tally.terminating:
            _create(client, owner, digest)
        return
    for surplus in choose_surplus(tally.pods, len(tally) - 1):
        delete_pod(client, owner, surplus, _COMPONENT)
    is_rolling = get_at(owner, ("spec", "updateStrategy", "type")) != "OnDelete"
    key, pod = tally.pods[0]
    if len(tally) == 1 and is_rolling and get_at(pod, ("metadata", "labels", _HASH)) != digest:
        delete_pod(client, owner, key, _COMPONENT)


def _create(client: ControllerClient, owner: JSONObject, digest: str) -> None:
    pod = make_pod(owner, owner["spec"]["template"])
    generation = get_at(owner, ("metadata", "annotations", TEMPLATE_GENERATION)) or "1"
    labels = pod["metadata"].get("labels") or {}
    pod["metadata"]["labels"] = {**labels, _HASH: digest, "pod-template-generation": generation}
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}]
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod["spec"]["tolerations"] = [*(pod["spec"].get("tolerations") or ()), *_list_tolerations()]
    try:
        create_pod(client, owner, pod, _COMPONENT)
    except StatusError:
        return  # it is recorded, and the controller looks again when something changes


def _list_tolerations() -> list[JSONObject]:
    lasting = [("not-ready", "NoExecute"), ("unreachable", "NoExecute"), *((name, "NoSchedule") for name in _PRESSURES)]
    return [{"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect} for name, effect in lasting]


def _write_status(client: ControllerClient, key: ObjectKey, owner: JSONObject, digest: str) -> float | None:
    tally = tally_pods(client, owner)
    updated = sum(1 for _, pod in tally.pods if get_at(pod, ("metadata", "labels", _HASH)) == digest)
    available = min(tally.available, 1)
    values: MutableObject = {
        "currentNumberScheduled": min(len(tally), 1),
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": min(tally.ready, 1),
        "observedGeneration": owner["metadata"].get("generation", 0),
        "updatedNumberScheduled": min(updated, 1),
        "numberAvailable": available,
        "numberUnavailable": 1 - available,
    }
    kept = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    client.write_status(key, conditions.without_zeros(values, *kept))
    return tally.wait
