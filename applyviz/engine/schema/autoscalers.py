"""Convert HorizontalPodAutoscalers: v1 has one CPU target, v2 a list of metrics.

Rule: k8s.io/kubernetes `pkg/apis/autoscaling/v1` conversion. Annotations carry the fields that v1 lacks. It is the only
built-in kind that the API server serves at two versions of one group by default.
"""

from __future__ import annotations

import json
from typing import Any

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def convert_autoscaler(obj: JSONObject, version: str) -> MutableObject:
    """Convert an autoscaler to another version.

    - A v1 object without any metric has the default metric in v2: the conversion itself adds it, so it also decides
      what an apply at another version removes.
    """
    copy: MutableObject = clone(dict(obj))
    if obj["apiVersion"] == f"autoscaling/{version}":
        return copy
    copy["metadata"], copy["spec"] = copy.get("metadata") or {}, copy.get("spec") or {}
    return _to_v1(copy) if version == "v1" else _to_v2(copy)


def _is_cpu(metric: JSONObject | None) -> bool:
    resource = (metric or {}).get("resource") or {}
    target = resource.get("target") or {}
    is_resource = metric is not None and metric.get("type") == "Resource"
    return is_resource and resource.get("name") == "cpu" and "averageUtilization" in target


def _to_v1(obj: MutableObject) -> MutableObject:
    spec, status, annotations = obj["spec"], obj.get("status") or {}, {}
    for name in (_METRICS, _BEHAVIOR, _CONDITIONS):
        _take(obj, name)
    metrics = spec.pop("metrics", None) or []
    cpu = next((m for m in metrics if _is_cpu(m)), None)
    if cpu is not None:
        spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    metrics = [m for m in metrics if not _is_cpu(m)]
    behavior = spec.pop("behavior", None)
    if metrics:
        annotations[_METRICS] = _write([_metric_to_v1(m) for m in metrics])
    if behavior:
        annotations[_BEHAVIOR] = _write({n: _rules_to_go(behavior.get(_lower(n))) for n in ("ScaleUp", "ScaleDown")})
    if status.get("conditions"):
        annotations[_CONDITIONS] = _write(status["conditions"])
    if annotations:
        obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **annotations}
    kept = {k: v for k, v in status.items() if k in ("observedGeneration", "lastScaleTime")}
    obj["status"] = {
        **kept,
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
    }
    return {**obj, "apiVersion": "autoscaling/v1"}


def _write(value: JSONValue) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


# For each source: its field in v1, its field in v2, and the value that v1 writes if there is none.
_Fields = tuple[tuple[str, tuple[str, ...], JSONValue], ...]
_UTILIZATION: _Fields = (
    ("name", ("name",), ""),
    ("targetAverageUtilization", ("target", "averageUtilization"), None),
    ("targetAverageValue", ("target", "averageValue"), None),
)
_SOURCES: dict[str, _Fields] = {
    "object": (
        ("target", ("describedObject",), {"kind": "", "name": ""}),
        ("metricName", ("metric", "name"), ""),
        ("targetValue", ("target", "value"), "0"),
        ("selector", ("metric", "selector"), None),
        ("averageValue", ("target", "averageValue"), None),
    ),
    "pods": (
        ("metricName", ("metric", "name"), ""),
        ("targetAverageValue", ("target", "averageValue"), "0"),
        ("selector", ("metric", "selector"), None),
    ),
    "resource": _UTILIZATION,
    "containerResource": (*_UTILIZATION, ("container", ("container",), "")),
    "external": (
        ("metricName", ("metric", "name"), ""),
        ("metricSelector", ("metric", "selector"), None),
        ("targetValue", ("target", "value"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
    ),
}
_REFERENCE = ("kind", "name", "apiVersion")


def _metric_to_v1(metric: Any) -> MutableObject:
    """Return a metric in the form of the v1 annotation, with its fields in the order of Go."""
    found: MutableObject = {"type": (metric or {}).get("type", "")}
    for source, fields in _SOURCES.items():
        block = (metric or {}).get(source)
        if block is None:
            continue
        values = [(name, get_at(block, path), default) for name, path, default in fields]
        found[source] = {
            n: default if v is None else v for n, v, default in values if not (v is None and default is None)
        }
        if source == "object":
            target = found[source]["target"]
            found[source]["target"] = {name: target[name] for name in _REFERENCE if name in target}
    return found


def _metric_to_v2(metric: Any) -> MutableObject:
    found: MutableObject = {"type": (metric or {}).get("type", "")}
    for source, fields in _SOURCES.items():
        block = (metric or {}).get(source)
        if block is None:
            continue
        made: MutableObject = {}
        for name, path, _ in fields:
            if block.get(name) is not None:
                parent = made
                for part in path[:-1]:
                    parent = parent.setdefault(part, {})
                parent[path[-1]] = block[name]
        target = made.setdefault("target", {})
        if source == "object" and target.get("averageValue") is not None and target.get("value") == "0":
            del target["value"]
        target["type"] = _type_of(source, target)
        found[source] = made
    return found


def _type_of(source: str, target: JSONObject) -> str:
    if source in ("resource", "containerResource"):
        return "Utilization" if "averageUtilization" in target else "AverageValue"
    if source == "object":
        return "AverageValue" if "averageValue" in target else "Value"
    return "Value" if source == "external" and "value" in target else "AverageValue"


_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY = ("Type", "Value", "PeriodSeconds")


def _rules_to_go(rules: JSONObject | None) -> JSONValue:
    """Return scaling rules as the server writes its internal type: every field, under its name in Go."""
    if rules is None:
        return None
    found = {name: rules.get(_lower(name)) for name in _RULES}
    if found["Policies"]:
        found["Policies"] = [{name: p.get(_lower(name)) for name in _POLICY} for p in found["Policies"]]
    return found


def _read_behavior(value: JSONValue) -> JSONValue:
    """Return the content of the annotation in names of v2; null is left out."""
    if isinstance(value, dict):
        return {_lower(name): _read_behavior(item) for name, item in value.items() if item is not None}
    return [_read_behavior(item) for item in value] if isinstance(value, list) else value


def _take(obj: MutableObject, name: str) -> JSONValue:
    annotations = obj["metadata"].get("annotations") or {}
    text = annotations.pop(name, None)
    if not annotations:
        obj["metadata"].pop("annotations", None)
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _to_v2(obj: MutableObject) -> MutableObject:
    spec = obj["spec"]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    block = _take(obj, _METRICS)
    metrics = [_metric_to_v2(m) for m in block] if isinstance(block, list) else []
    if percent is not None or not metrics:
        target = {"type": "Utilization", "averageUtilization": 80 if percent is None else percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    spec["metrics"] = metrics
    behavior = _read_behavior(_take(obj, _BEHAVIOR))
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
