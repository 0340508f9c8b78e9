"""The controller of Deployments: ReplicaSets, step by step, from the old template to the new one.

Rule: k8s.io/kubernetes `pkg/controller/deployment` (`sync.go`, `rolling.go`, `recreate.go`). Left out: collisions of
hashes, adoption of ReplicaSets that others made.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject, MutableObject, clone, get_at
from applyviz.kubernetes.parity.equality import find_topology, is_equal
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import deployment_status, rollout_math
from applyviz.sandbox.workloads.controller_client import ControllerClient, is_active, make_owner
from applyviz.sandbox.workloads.pod_sets import HASH, hash_template
from applyviz.sandbox.workloads.rollout_math import RolloutLimits

REVISION = "deployment.kubernetes.io/revision"
_DESIRED, _MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_COPIED = frozenset({LAST_APPLIED, REVISION, _HISTORY, _DESIRED, _MOST, "deprecated.deployment.rollback.to"})
_COMPONENT = "deployment-controller"


class ReplicaSets(Struct, frozen=True):
    """The ReplicaSets of a Deployment: the one of its template, and the others, oldest first."""

    new: JSONObject | None
    old: tuple[JSONObject, ...]

    @property
    def every(self) -> list[JSONObject]:
        """Return all of them."""
        return [*self.old, *([self.new] if self.new is not None else [])]


def _plain(template: JSONObject) -> JSONObject:
    """Return a template without the label of its hash."""
    found: MutableObject = clone(dict(template))
    labels = (found.get("metadata") or {}).get("labels") or {}
    labels.pop(HASH, None)
    return found


def read_sets(client: ControllerClient, deployment: JSONObject) -> ReplicaSets:
    """Return the ReplicaSets of a Deployment."""
    sets = [replica_set for _, replica_set in client.list_owned(deployment, "replicasets")]
    wanted = _plain(deployment["spec"]["template"])
    at = find_topology("apps/v1", "Deployment", "spec", "template")
    new = next((s for s in sets if is_equal(_plain(s["spec"]["template"]), wanted, at)), None)
    return ReplicaSets(new, tuple(s for s in sets if s is not new))


def reconcile_deployment(client: ControllerClient, key: ObjectKey, deployment: JSONObject) -> float | None:
    """Take the next step of a rollout and write the status; return when to look again, None when something changes."""
    sets = read_sets(client, deployment)
    if is_deleted(deployment):
        return deployment_status.write(client, key, deployment, sets.new, sets.old)
    if deployment["spec"].get("paused") or _is_scaled(deployment, sets):
        sets = _ensure_new(client, deployment, sets, may_create=False)
        _scale_all(client, deployment, sets)
        return deployment_status.write(client, key, deployment, *_reread(client, deployment))
    try:
        if rollout_math.is_rolling(deployment):
            _roll(client, deployment, sets)
        else:
            _recreate(client, deployment, sets)
    except StatusError as error:
        message = f"Failed to create new replica set: {error.message}"
        client.record_event(deployment, "ReplicaSetCreateError", message, component=_COMPONENT, is_warning=True)
    now = read_sets(client, deployment)
    wait = deployment_status.write(client, key, deployment, now.new, now.old, annotations=_revision_of(now.new))
    after = client.get(key)
    if after is not None and deployment_status.is_complete(after, after.get("status") or {}):
        _forget_old(client, after, now)
    return wait


def _reread(client: ControllerClient, deployment: JSONObject) -> tuple[JSONObject | None, tuple[JSONObject, ...]]:
    sets = read_sets(client, deployment)
    return sets.new, sets.old


def _revision_of(new: JSONObject | None) -> dict[str, str]:
    revision = get_at(new, ("metadata", "annotations", REVISION)) if new is not None else None
    return {REVISION: str(revision)} if revision else {}


def _is_scaled(deployment: JSONObject, sets: ReplicaSets) -> bool:
    """Return whether `replicas` changed since the ReplicaSets were last scaled."""
    wanted = str(deployment["spec"].get("replicas", 1))
    active = [s for s in sets.every if s["spec"].get("replicas", 1) > 0]
    return any((get_at(s, ("metadata", "annotations", _DESIRED)) or wanted) != wanted for s in active)


def _roll(client: ControllerClient, deployment: JSONObject, sets: ReplicaSets) -> None:
    """Grow the new ReplicaSet, or shrink the old ones where that was done."""
    limits, before = RolloutLimits.of(deployment), sets.new
    sets = _ensure_new(client, deployment, sets)
    if sets.new is None or before is None:
        return
    if _scale(client, deployment, sets.new, rollout_math.grow(limits, sets.new, sets.every, rolls=True)):
        return
    if rollout_math.count_wanted(sets.old):
        for replica_set, want in zip(sets.old, rollout_math.shrink(limits, sets.new, sets.old), strict=True):
            _scale(client, deployment, replica_set, want)


def _recreate(client: ControllerClient, deployment: JSONObject, sets: ReplicaSets) -> None:
    """End all old Pods before the first new one is created."""
    ended = [replica_set for replica_set in sets.old if _scale(client, deployment, replica_set, 0)]
    if ended:
        return
    if any(is_active(pod) or pod["metadata"].get("deletionTimestamp") for pod in _list_pods(client, sets.old)):
        return
    before, sets = sets.new, _ensure_new(client, deployment, sets)
    if before is not None and sets.new is not None:
        _scale(client, deployment, sets.new, RolloutLimits.of(deployment).wanted)


def _list_pods(client: ControllerClient, sets: Sequence[JSONObject]) -> list[JSONObject]:
    return [pod for replica_set in sets for _, pod in client.list_owned(replica_set, "pods")]


def _ensure_new(
    client: ControllerClient, deployment: JSONObject, sets: ReplicaSets, *, may_create: bool = True
) -> ReplicaSets:
    """Return the sets with an up-to-date new one, which is created if there is none."""
    revision = 1 + max((_read_revision(s) for s in sets.old), default=0)
    if sets.new is None:
        if not may_create:
            return sets
        new = client.create("replicasets", _make_set(deployment, sets, revision))
        wanted = new["spec"].get("replicas", 1)
        if wanted:
            _record_scaling(client, deployment, new, 0)
        return ReplicaSets(new, sets.old)
    return ReplicaSets(_update_annotations(client, deployment, sets.new, revision), sets.old)


def _read_revision(replica_set: JSONObject) -> int:
    return read_digits(str(get_at(replica_set, ("metadata", "annotations", REVISION)) or "0")) or 0


def _copied(deployment: JSONObject) -> dict[str, str]:
    replica_set = deployment["metadata"].get("annotations") or {}
    return {name: text for name, text in replica_set.items() if name not in _NOT_COPIED}


def _make_set(deployment: JSONObject, sets: ReplicaSets, revision: int) -> MutableObject:
    spec, limits = deployment["spec"], RolloutLimits.of(deployment)
    template: MutableObject = clone(dict(spec["template"]))
    digest = hash_template(spec["template"])
    labels = {**(get_at(template, ("metadata", "labels")) or {}), HASH: digest}
    template["metadata"] = {**(template.get("metadata") or {}), "labels": labels}
    selector: MutableObject = clone(dict(spec["selector"]))
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH: digest}
    wanted = rollout_math.grow(limits, None, sets.every, rolls=rollout_math.is_rolling(deployment))
    ready = {"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{digest}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "annotations": {**_copied(deployment), REVISION: str(revision), **_note_limits(limits)},
            "ownerReferences": make_owner(deployment),
        },
        "spec": {"replicas": wanted, **ready, "selector": selector, "template": template},
    }


def _note_limits(limits: RolloutLimits) -> dict[str, str]:
    return {_DESIRED: str(limits.wanted), _MOST: str(limits.most)}


def _update_annotations(client: ControllerClient, deployment: JSONObject, new: JSONObject, revision: int) -> JSONObject:
    """Give a template that is used again the newest revision, as after a rollback; copy annotations and seconds."""
    replica_set = new["metadata"].get("annotations") or {}
    fresh = {**replica_set, **_copied(deployment)}
    if _read_revision(new) < revision:
        if _read_revision(new):
            fresh[_HISTORY] = ",".join(filter(None, (replica_set.get(_HISTORY), replica_set.get(REVISION))))
        fresh[REVISION] = str(revision)
    seconds = deployment["spec"].get("minReadySeconds") or 0
    if fresh == replica_set and (new["spec"].get("minReadySeconds") or 0) == seconds:
        return new
    changed: MutableObject = clone(dict(new))
    changed["metadata"]["annotations"], changed["spec"]["minReadySeconds"] = fresh, seconds
    return client.replace("replicasets", changed)


def _scale(client: ControllerClient, deployment: JSONObject, replica_set: JSONObject, wanted: int) -> bool:
    """Scale a ReplicaSet, and note the limits on it; return whether its size changed."""
    limits, before = _note_limits(RolloutLimits.of(deployment)), int(replica_set["spec"].get("replicas", 1))
    annotations = replica_set["metadata"].get("annotations") or {}
    if before == wanted and (not wanted or limits.items() <= annotations.items()):
        return False
    changed: MutableObject = clone(dict(replica_set))
    changed["spec"]["replicas"], changed["metadata"]["annotations"] = wanted, {**annotations, **limits}
    scaled = client.replace("replicasets", changed)
    if before != wanted:
        _record_scaling(client, deployment, scaled, before)
    return before != wanted


def _record_scaling(client: ControllerClient, deployment: JSONObject, replica_set: JSONObject, before: int) -> None:
    wanted = replica_set["spec"].get("replicas", 1)
    direction = "up" if wanted > before else "down"
    message = f"Scaled {direction} replica set {replica_set['metadata']['name']} from {before} to {wanted}"
    client.record_event(deployment, "ScalingReplicaSet", message, component=_COMPONENT)


def _scale_all(client: ControllerClient, deployment: JSONObject, sets: ReplicaSets) -> None:
    """Scale what there is to the size of the Deployment, without a new rollout step."""
    active = [s for s in sets.every if s["spec"].get("replicas", 1) > 0]
    limits = RolloutLimits.of(deployment)
    if len(active) < 2:
        only = active[0] if active else sets.new
        if only is not None:
            _scale(client, deployment, only, limits.wanted)
    elif _is_saturated(limits, sets.new):
        for replica_set in sets.old:
            _scale(client, deployment, replica_set, 0)
    elif rollout_math.is_rolling(deployment):
        for replica_set, want in zip(active, rollout_math.share_out(limits, active), strict=True):
            _scale(client, deployment, replica_set, want)


def _is_saturated(limits: RolloutLimits, new: JSONObject | None) -> bool:
    if new is None:
        return False
    available = (new.get("status") or {}).get("availableReplicas") or 0
    return bool(available == new["spec"].get("replicas", 1) == limits.wanted)


def _forget_old(client: ControllerClient, deployment: JSONObject, sets: ReplicaSets) -> None:
    """Delete the oldest ReplicaSets beyond `revisionHistoryLimit`."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    empty = [s for s in sets.old if not s["spec"].get("replicas", 1) and not (s.get("status") or {}).get("replicas")]
    surplus = len(sets.old) - limit if isinstance(limit, int) else 0
    for replica_set in sorted(empty, key=_read_revision)[: max(surplus, 0)]:
        meta = replica_set["metadata"]
        client.delete(ObjectKey("apps", "replicasets", meta["namespace"], meta["name"]), None)
