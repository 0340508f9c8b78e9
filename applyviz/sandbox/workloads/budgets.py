"""The status of PodDisruptionBudgets, and of HorizontalPodAutoscalers, which scale to their limits only.

Rule: k8s.io/kubernetes `pkg/controller/disruption` and `pkg/controller/podautoscaler`. A sandbox has no metrics: an
autoscaler corrects a number of replicas outside its limits and says that it knows nothing else.
"""

from __future__ import annotations

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.shares import scale_share
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.references.selectors import read_selector
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient, find_controller, is_active
from applyviz.sandbox.workloads.pod_sets import is_ready

PLURALS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "ReplicaSet": "replicasets"}


def selects(budget: JSONObject, labels: JSONObject) -> bool:
    """Return whether a budget counts Pods with these labels; an empty selector counts all of its namespace."""
    selector = read_selector(get_at(budget, ("spec", "selector")))
    return selector is not None and selector.matches(labels)


def reconcile_budget(client: ControllerClient, key: ObjectKey, budget: JSONObject) -> None:
    """Write how many Pods may be evicted now."""
    pods = [
        pod
        for _, pod in client.list_in("", "pods", key.namespace)
        if is_active(pod) and selects(budget, pod["metadata"].get("labels") or {})
    ]
    expected, desired = _count_desired(client, budget, pods)
    healthy = sum(1 for pod in pods if is_ready(pod))
    allowed = max(healthy - desired, 0) if expected else 0
    now, generation = client.now(), budget["metadata"].get("generation", 0)
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    stored = get_at(budget, ("status", "conditions"))
    client.write_status(
        key,
        {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": conditions.set_condition(stored, condition),
        },
    )


def _count_desired(client: ControllerClient, budget: JSONObject, pods: list[JSONObject]) -> tuple[int, int]:
    """Return how many Pods there should be, and how many of them must be healthy."""
    spec = budget["spec"]
    fewest, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if isinstance(fewest, int):
        return len(pods), fewest
    expected = _count_expected(client, budget["metadata"]["namespace"], pods)
    if most is not None:
        return expected, max(expected - (scale_share(most, expected, is_rounded_up=True) or 0), 0)
    return expected, scale_share(fewest, expected, is_rounded_up=True) or 0


def _count_expected(client: ControllerClient, namespace: str, pods: list[JSONObject]) -> int:
    """Return how many Pods their controllers want together."""
    wanted: dict[str, int] = {}
    for pod in pods:
        owner = find_controller(pod)
        stored = _find_owner(client, namespace, owner)
        above = find_controller(stored) if stored is not None else None
        top = _find_owner(client, namespace, above) or stored
        if top is not None:
            wanted[top["metadata"]["uid"]] = top["spec"].get("replicas", 1)
    return sum(wanted.values())


def _find_owner(client: ControllerClient, namespace: str, owner: JSONObject | None) -> JSONObject | None:
    plural = PLURALS.get(str((owner or {}).get("kind")))
    return client.get(ObjectKey("apps", plural, namespace, str((owner or {})["name"]))) if plural else None


def find_scale_target(scaler: JSONObject) -> ObjectKey | None:
    """Return the key of the workload that an autoscaler scales, None for kinds without Pods here."""
    target = get_at(scaler, ("spec", "scaleTargetRef")) or {}
    plural = PLURALS.get(str(target.get("kind")))
    group = GroupVersionKind.from_object(target).group
    if plural is None or group != "apps":
        return None
    return ObjectKey("apps", plural, scaler["metadata"]["namespace"], str(target.get("name")))


def reconcile_autoscaler(client: ControllerClient, key: ObjectKey, scaler: JSONObject) -> None:
    """Scale the target into the limits, and write the status."""
    target_key = find_scale_target(scaler)
    target = client.get(target_key) if target_key is not None else None
    stored = scaler.get("status") or {}
    if target is None or target_key is None:
        why = get_at(scaler, ("spec", "scaleTargetRef", "name"))
        message = f"the HPA controller was unable to get the target's current scale: {why} not found"
        entry = _condition(client, "AbleToScale", "False", "FailedGetScale", message)
        found = conditions.set_condition(stored.get("conditions"), entry)
        client.write_status(key, {**stored, "currentMetrics": None, "desiredReplicas": 0, "conditions": found})
        return
    current = target["spec"].get("replicas", 1)
    wanted = _limit(scaler, current)
    status: MutableObject = {**stored, "currentReplicas": current, "desiredReplicas": wanted, "currentMetrics": None}
    if wanted != current:
        _scale(client, scaler, target_key, wanted)
        status["lastScaleTime"] = client.now()
        message = f"the HPA controller was able to update the target scale to {wanted}"
        fresh = [_condition(client, "AbleToScale", "True", "SucceededRescale", message)]
    else:
        fresh = _describe_no_metrics(client, current)
    for entry in fresh:
        status["conditions"] = conditions.set_condition(status.get("conditions"), entry)
    client.write_status(key, status)


def _limit(scaler: JSONObject, current: int) -> int:
    if not current:  # scaled to zero manually, which pauses an autoscaler
        return 0
    return int(min(max(current, scaler["spec"].get("minReplicas") or 1), scaler["spec"]["maxReplicas"]))


def _describe_no_metrics(client: ControllerClient, current: int) -> list[JSONObject]:
    if not current:
        message = "scaling is disabled since the replica count of the target is zero"
        return [_condition(client, "ScalingActive", "False", "ScalingDisabled", message)]
    got = "the HPA controller was able to get the target's current scale"
    message = "the sandbox has no metrics: it scales to minReplicas and maxReplicas only"
    return [
        _condition(client, "AbleToScale", "True", "SucceededGetScale", got),
        _condition(client, "ScalingActive", "False", "FailedGetResourceMetric", message),
    ]


def _scale(client: ControllerClient, scaler: JSONObject, key: ObjectKey, wanted: int) -> None:
    try:
        client.scale(key, wanted)
    except StatusError as error:
        client.record_event(
            scaler, "FailedRescale", error.message, component="horizontal-pod-autoscaler", is_warning=True
        )
        return
    message = f"New size: {wanted}; reason: Current number of replicas is outside of minReplicas and maxReplicas"
    client.record_event(scaler, "SuccessfulRescale", message, component="horizontal-pod-autoscaler")


def _condition(client: ControllerClient, kind: str, status: str, reason: str, message: str) -> JSONObject:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": client.now(),
        "reason": reason,
        "message": message,
    }
