"""The controller of StatefulSets: Pods with numbers, one after the other, and their claims.

Rule: k8s.io/kubernetes `pkg/controller/statefulset`. As there, a Pod that never gets ready stops an ordered set, also
when its template is mended. Left out: retention policies of claims, `maxUnavailable`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.ordinals import read_ordinals
from applyviz.engine.objects.values import JSONObject, MutableObject, clone, get_at
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient, is_active
from applyviz.sandbox.workloads.pod_sets import create_pod, delete_pod, is_available, is_ready, make_pod, tally_pods
from applyviz.sandbox.workloads.revisions import ensure_revision, forget_revisions

_COMPONENT, _HASH = "statefulset-controller", "controller-revision-hash"
_LABEL = "controller.kubernetes.io/hash"


class _RevisionNames(Struct, frozen=True):
    """The names of the revision that the set has, and of the one that it gets; and the templates."""

    current: str
    update: str
    templates: dict[str, JSONObject]


def reconcile_stateful_set(client: ControllerClient, key: ObjectKey, owner: JSONObject) -> float | None:
    """Take one step and write the status; return when to look again, None when something changes."""
    fresh, revisions = ensure_revision(client, owner, _LABEL)
    update = str(fresh["metadata"]["name"])
    templates = {r["metadata"]["name"]: get_at(r, ("data", "spec", "template")) or {} for r in revisions}
    current = str(get_at(owner, ("status", "currentRevision")) or update)
    versions = _RevisionNames(current if current in templates else update, update, templates)
    if not is_deleted(owner):
        try:
            _step(client, owner, versions)
        except StatusError as error:
            message = f"create Pod in StatefulSet {key.name} failed error: {error.message}"
            client.record_event(owner, "FailedCreate", message, component=_COMPONENT, is_warning=True)
    used = {str(get_at(pod, ("metadata", "labels", _HASH))) for _, pod in client.list_owned(owner, "pods")}
    forget_revisions(client, owner, revisions, {*used, versions.current, update})
    return _write_status(client, key, owner, versions)


def _read_pods(client: ControllerClient, owner: JSONObject) -> dict[int, JSONObject]:
    """Return the Pods of a set by their numbers; deleted ones too, because their names are taken."""
    prefix = f"{owner['metadata']['name']}-"
    found = {}
    for key, pod in client.list_owned(owner, "pods"):
        number = read_digits(key.name.removeprefix(prefix))
        if number is not None:
            found[number] = pod
    return found


def _find_first_updated(owner: JSONObject) -> int:
    """Return the first number that a rolling update updates; the partition counts from the first number of the set."""
    partition = get_at(owner, ("spec", "updateStrategy", "rollingUpdate", "partition")) or 0
    return read_ordinals(owner).start + partition


def _step(client: ControllerClient, owner: JSONObject, versions: _RevisionNames) -> None:
    """Create what is missing, then remove what is too much, then update from the last to the first."""
    pods, is_ordered = _read_pods(client, owner), owner["spec"].get("podManagementPolicy") != "Parallel"
    for number in read_ordinals(owner):
        pod = pods.get(number)
        if pod is None:
            _create(client, owner, number, versions)
        elif not is_active(pod) and not is_deleted(pod):
            _delete(client, owner, number)
        if is_ordered and (pod is None or is_deleted(pod) or not is_ready(pod)):
            return
    surplus = [number for number in sorted(pods, reverse=True) if number not in read_ordinals(owner)]
    for number in surplus:
        if not is_deleted(pods[number]):
            _delete(client, owner, number)
        if is_ordered:
            return
    if not surplus and get_at(owner, ("spec", "updateStrategy", "type")) != "OnDelete":
        _update(client, owner, pods, versions)


def _update(client: ControllerClient, owner: JSONObject, pods: dict[int, JSONObject], versions: _RevisionNames) -> None:
    partition = _find_first_updated(owner)
    for number in reversed(read_ordinals(owner)):
        pod = pods.get(number)
        if number < partition or pod is None:
            return
        if get_at(pod, ("metadata", "labels", _HASH)) != versions.update and not is_deleted(pod):
            _delete(client, owner, number)
            return
        if is_deleted(pod) or not is_ready(pod):
            return


def _delete(client: ControllerClient, owner: JSONObject, number: int) -> None:
    meta = owner["metadata"]
    delete_pod(client, owner, ObjectKey("", "pods", meta["namespace"], f"{meta['name']}-{number}"), _COMPONENT)


def _choose_revision(owner: JSONObject, number: int, versions: _RevisionNames) -> str:
    """Return the revision of a new Pod: during an update those below the updated ones keep theirs."""
    partition = _find_first_updated(owner)
    kept = read_ordinals(owner).start + (get_at(owner, ("status", "currentReplicas")) or 0)
    is_kept = number < partition or number < kept
    return versions.current if is_kept and versions.current != versions.update else versions.update


def _create(client: ControllerClient, owner: JSONObject, number: int, versions: _RevisionNames) -> None:
    meta, revision = owner["metadata"], _choose_revision(owner, number, versions)
    name = f"{meta['name']}-{number}"
    template = versions.templates.get(revision) or owner["spec"]["template"]
    pod = make_pod(owner, {n: v for n, v in template.items() if n != "$patch"}, name=name)
    pod["metadata"]["generateName"] = f"{meta['name']}-"
    pod["metadata"]["labels"] = {
        **(pod["metadata"].get("labels") or {}),
        "apps.kubernetes.io/pod-index": str(number),
        _HASH: revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    pod["spec"]["hostname"] = name
    if owner["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = owner["spec"]["serviceName"]
    claims = {str(claim["metadata"]["name"]): claim for claim in _make_claims(owner, number)}
    named = [
        {"name": n, "persistentVolumeClaim": {"claimName": c["metadata"]["name"]}} for n, c in _name(owner, claims)
    ]
    others = [v for v in pod["spec"].get("volumes") or () if v["name"] not in {v["name"] for v in named}]
    if named:
        pod["spec"]["volumes"] = [*named, *others]
    for claim in claims.values():
        if client.get(ObjectKey("", "persistentvolumeclaims", meta["namespace"], claim["metadata"]["name"])) is None:
            client.create("persistentvolumeclaims", claim)
    create_pod(client, owner, pod, _COMPONENT)


def _name(owner: JSONObject, claims: dict[str, JSONObject]) -> Iterator[tuple[str, JSONObject]]:
    templates = owner["spec"].get("volumeClaimTemplates") or ()
    for template, claim in zip(templates, claims.values(), strict=True):
        yield template["metadata"]["name"], claim


def _make_claims(owner: JSONObject, number: int) -> Iterator[JSONObject]:
    meta, selected = owner["metadata"], get_at(owner, ("spec", "selector", "matchLabels")) or {}
    for template in owner["spec"].get("volumeClaimTemplates") or ():
        made: MutableObject = clone({n: v for n, v in template.items() if n != "status"})
        current = made["metadata"]
        made["metadata"] = {
            **{n: current[n] for n in ("annotations",) if current.get(n)},
            "name": f"{current['name']}-{meta['name']}-{number}",
            "namespace": meta["namespace"],
            "labels": {**(current.get("labels") or {}), **selected},
        }
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **made}


def _write_status(
    client: ControllerClient, key: ObjectKey, owner: JSONObject, versions: _RevisionNames
) -> float | None:
    tally, min_ready = tally_pods(client, owner), owner["spec"].get("minReadySeconds") or 0
    revisions = [get_at(pod, ("metadata", "labels", _HASH)) for _, pod in tally.pods]
    now = client.cluster.clock()
    values: MutableObject = {
        "observedGeneration": owner["metadata"].get("generation", 0),
        "replicas": len(tally),
        "readyReplicas": tally.ready,
        "availableReplicas": sum(1 for _, pod in tally.pods if is_available(pod, min_ready, now)),
        "currentReplicas": revisions.count(versions.current),
        "updatedReplicas": revisions.count(versions.update),
        "currentRevision": versions.current,
        "updateRevision": versions.update,
        "collisionCount": 0,
    }
    wanted = owner["spec"].get("replicas", 1)
    if values["updatedReplicas"] == values["replicas"] == values["readyReplicas"] == wanted:
        values["currentRevision"], values["currentReplicas"] = versions.update, values["updatedReplicas"]
    client.write_status(key, conditions.without_zeros(values, "replicas", "availableReplicas", "collisionCount"))
    return tally.wait
