"""The defaults that depend on other fields, by Go type (see `defaults`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.kubernetes.parity.resources_math import default_pod_resources

_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9.:\[\]-]+/)?[a-z0-9._/-]+(?::\w[\w.-]{0,127})?(?:@[A-Za-z0-9+._-]+:[0-9a-fA-F]+)?\Z"
)
_RBAC = "rbac.authorization.k8s.io"
_UP_POLICIES: JSONValue = [
    {"type": "Pods", "value": 4, "periodSeconds": 15},
    {"type": "Percent", "value": 100, "periodSeconds": 15},
]
_DOWN_POLICIES: JSONValue = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
_CPU_METRIC: JSONObject = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def image_tag(image: str) -> str:
    """Return the tag of an image reference as the server reads it: `latest` without a tag and a digest."""
    if not _REFERENCE.match(image):
        return ""
    reference, at, _ = image.partition("@")
    tag = reference.rpartition("/")[2].partition(":")[2]
    return tag or ("" if at else "latest")


def pull_policy(image: str) -> str:
    """Return `Always` for the tag latest, else `IfNotPresent`."""
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def _container(value: MutableObject) -> None:
    if not value.get("imagePullPolicy"):
        value["imagePullPolicy"] = pull_policy(value.get("image", ""))


def _volume(value: MutableObject) -> None:
    if not any(v is not None for k, v in value.items() if k != "name"):
        value["emptyDir"] = {}
    image = value.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


def _pod(value: MutableObject) -> None:
    spec = value["spec"]
    default_pod_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))


def _pod_spec(value: MutableObject) -> None:
    name = value.get("serviceAccountName") or value.get("serviceAccount")
    if name:
        value["serviceAccountName"] = value["serviceAccount"] = name


def _service(value: MutableObject) -> None:
    spec = value["spec"]
    _service_affinity(spec)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (0, "", None):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        _load_balancer(value)


def _service_affinity(spec: MutableObject) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}


def _load_balancer(value: MutableObject) -> None:
    value["spec"].setdefault("allocateLoadBalancerNodePorts", True)
    status = (value.get("status") or {}).get("loadBalancer") or {}
    for ingress in status.get("ingress") or ():
        if ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")


def _namespace(value: MutableObject) -> None:
    name = value["metadata"].get("name")
    if name:
        value["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name


def _replication_controller(value: MutableObject) -> None:
    labels = ((value["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        value["spec"].setdefault("selector", clone(labels))
        value["metadata"].setdefault("labels", clone(labels))


def _deployment(value: MutableObject) -> None:
    strategy = value["spec"]["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def _daemon_set(value: MutableObject) -> None:
    strategy = value["spec"]["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    elif strategy.get("rollingUpdate") is not None:  # the internal type holds both amounts without a pointer
        strategy["rollingUpdate"].setdefault("maxUnavailable", 0)
        strategy["rollingUpdate"].setdefault("maxSurge", 0)


def _stateful_set(value: MutableObject) -> None:
    spec = value["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None:
        rolling.setdefault("partition", 0)
    retention = spec["persistentVolumeClaimRetentionPolicy"] = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")


def _job(value: MutableObject) -> None:
    spec = value["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2147483647 if spec.get("backoffLimitPerIndex") is not None else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not value["metadata"].get("labels"):
        value["metadata"]["labels"] = labels  # the same map, as in Go: labels added to the template appear here
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _autoscaler(value: MutableObject) -> None:
    spec = value["spec"]
    if not spec.get("metrics"):
        spec["metrics"] = [clone(_CPU_METRIC)]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": clone(_UP_POLICIES)}
        down = {"selectPolicy": "Max", "policies": clone(_DOWN_POLICIES)}
        behavior["scaleUp"] = {**up, **(behavior.get("scaleUp") or {})}
        behavior["scaleDown"] = {**down, **(behavior.get("scaleDown") or {})}


def _subject(value: MutableObject) -> None:
    if not value.get("apiGroup") and value.get("kind") in ("User", "Group"):
        value["apiGroup"] = _RBAC


def _network_policy(value: MutableObject) -> None:
    spec = value["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _limit_range_item(value: MutableObject) -> None:
    if value.get("type") != "Container":
        return
    default = {**(value.get("max") or {}), **(value.get("default") or {})}
    request = {**(value.get("min") or {}), **default, **(value.get("defaultRequest") or {})}
    for name, limits in (("default", default), ("defaultRequest", request)):
        if limits:
            value[name] = limits


def _definition(value: MutableObject) -> None:
    spec = value["spec"]
    names = spec["names"]
    if not names.get("singular"):
        names["singular"] = names.get("kind", "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = names["kind"] + "List"
    if not value["status"].get("storedVersions"):
        stored = [v["name"] for v in spec.get("versions") or () if v.get("storage")]
        value["status"]["storedVersions"] = stored[:1] or None


def _device_request(value: MutableObject) -> None:
    if value.setdefault("allocationMode", "ExactCount") == "ExactCount":
        value.setdefault("count", 1)


def _failure_pattern(value: MutableObject) -> None:
    if not value.get("status"):
        value["status"] = "True"


RULES: Mapping[str, Callable[[MutableObject], None]] = {
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.Volume": _volume,
    "core/v1.Pod": _pod,
    "core/v1.PodSpec": _pod_spec,
    "core/v1.Service": _service,
    "core/v1.Namespace": _namespace,
    "core/v1.ReplicationController": _replication_controller,
    "core/v1.LimitRangeItem": _limit_range_item,
    "apps/v1.Deployment": _deployment,
    "apps/v1.DaemonSet": _daemon_set,
    "apps/v1.StatefulSet": _stateful_set,
    "batch/v1.Job": _job,
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": _failure_pattern,
    "autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
    "rbac/v1.Subject": _subject,
    "networking/v1.NetworkPolicy": _network_policy,
    "apiextensions/v1.CustomResourceDefinition": _definition,
    "resource/v1.ExactDeviceRequest": _device_request,
    "resource/v1.DeviceSubRequest": _device_request,
}
