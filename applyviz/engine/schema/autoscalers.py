"""Convert HorizontalPodAutoscalers: v1 has one CPU target, v2 a list of metrics.

Rule: k8s.io/kubernetes `pkg/apis/autoscaling/v1` conversion. What v1 cannot say travels in annotations. It is
the one built-in kind that the API server serves at two versions of one group by default.
"""

from __future__ import annotations

import json

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def convert_autoscaler(obj: JSONObject, version: str, *, has_defaults: bool = False) -> MutableObject:
    """Convert an autoscaler to another version.

    - `has_defaults`: whether v2 without metrics gets the default one, as when it is read from storage.
    """
    copy: MutableObject = clone(dict(obj))
    if obj["apiVersion"] == f"autoscaling/{version}":
        return copy
    copy["metadata"], copy["spec"] = copy.get("metadata") or {}, copy.get("spec") or {}
    return _to_v1(copy) if version == "v1" else _to_v2(copy, has_defaults)


def _is_cpu(metric: JSONObject | None) -> bool:
    resource = (metric or {}).get("resource") or {}
    target = resource.get("target") or {}
    is_resource = metric is not None and metric.get("type") == "Resource"
    return is_resource and resource.get("name") == "cpu" and "averageUtilization" in target


def _to_v1(obj: MutableObject) -> MutableObject:
    spec, status, annotations = obj["spec"], obj.get("status") or {}, {}
    metrics = spec.pop("metrics", None) or []
    cpu = next((m for m in metrics if _is_cpu(m)), None)
    if cpu is not None:
        spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
        metrics = [m for m in metrics if m is not cpu]
    for name, value in ((_METRICS, metrics), (_BEHAVIOR, spec.pop("behavior", None))):
        if value:
            annotations[name] = json.dumps(value, separators=(",", ":"))
    if status.get("conditions"):
        annotations[_CONDITIONS] = json.dumps(status["conditions"], separators=(",", ":"))
    if annotations:
        obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **annotations}
    kept = {k: v for k, v in status.items() if k in ("observedGeneration", "lastScaleTime")}
    obj["status"] = {
        **kept,
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
    }
    return {**obj, "apiVersion": "autoscaling/v1"}


def _take(obj: MutableObject, name: str) -> JSONValue:
    annotations = obj["metadata"].get("annotations") or {}
    text = annotations.pop(name, None)
    if not annotations:
        obj["metadata"].pop("annotations", None)
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _to_v2(obj: MutableObject, has_defaults: bool) -> MutableObject:
    spec = obj["spec"]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = list(_take(obj, _METRICS) or [])
    if percent is not None or (has_defaults and not metrics):
        target = {"type": "Utilization", "averageUtilization": 80 if percent is None else percent}
        metrics.insert(0, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    behavior = _take(obj, _BEHAVIOR)
    if behavior:
        spec["behavior"] = behavior
    status = {k: v for k, v in (obj.get("status") or {}).items() if k != "currentCPUUtilizationPercentage"}
    conditions = _take(obj, _CONDITIONS)
    if conditions:
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    status["desiredReplicas"], status["currentMetrics"] = status.get("desiredReplicas", 0), None
    obj["status"] = status
    return {**obj, "apiVersion": "autoscaling/v2"}
