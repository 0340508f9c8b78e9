"""Validation of autoscalers.

Rule: `pkg/apis/autoscaling/validation` of k8s.io/kubernetes v1.36.3, for autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.kubernetes.parity.name_formats import label_problems, path_segment_problems
from applyviz.kubernetes.parity.status import NOT_NEGATIVE, FieldError, forbidden, invalid, not_supported, required

_METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
# In the order of the server: only the first one present is validated.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_EITHER = {
    "object": "must set either a target value or averageValue",
    "external": "must set either a target value for metric or a per-pod target",
}
_MOST_WINDOW, _MOST_PERIOD = 3600, 1800
_UTILIZATION = "must set either a target raw value or a target utilization"


def _segment(path: str, value: Any, detail: str = "") -> Iterator[FieldError]:
    if not value:
        yield required(path, detail)
        return
    for problem in path_segment_problems(value):
        yield invalid(path, value, problem)


def _autoscaler(obj: JSONObject) -> Iterator[FieldError]:
    spec = convert_autoscaler(obj, "v2")["spec"]
    low, high = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if low < 1:
        yield invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 0:
        yield invalid("spec.maxReplicas", high, "must be greater than or equal to 1")
    if high < low:
        yield invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    yield from _reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", needs_group=True)
    metrics = spec.get("metrics") or ()
    for i, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{i}]")
    if low == 0 and not any(m.get("type") in ("Object", "External") for m in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", detail)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            yield from _scaling(rules, f"spec.behavior.{name}")


def _reference(reference: JSONObject, path: str, *, needs_group: bool = False) -> Iterator[FieldError]:
    for name in ("kind", "name"):
        yield from _segment(f"{path}.{name}", reference.get(name))
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and "/" not in reference.get("apiVersion", ""):
        yield invalid(f"{path}.apiVersion", reference.get("apiVersion", ""), "apiVersion must specify API group")


def _metric(metric: JSONObject, path: str) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _METRIC_TYPES:
        yield not_supported(f"{path}.type", kind, _METRIC_TYPES)
    present = [name for name in _SOURCES if metric.get(name) is not None]
    if present:
        yield from _source(present[0], metric[present[0]], f"{path}.{present[0]}")
    wanted = kind[:1].lower() + kind[1:]
    if kind not in _METRIC_TYPES:
        yield not_supported(f"{path}.type", kind, _METRIC_TYPES)
        wanted = ""
    elif metric.get(wanted) is None:
        yield required(f"{path}.{wanted}", "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != wanted:
                yield forbidden(f"{path}.{name}", "must populate the given metric source only")


def _source(name: str, source: JSONObject, path: str) -> Iterator[FieldError]:
    target = source.get("target") or {}
    if name in ("pods", "external", "object"):
        if name == "object":
            yield from _reference(source.get("describedObject") or {}, f"{path}.describedObject")
        metric = (source.get("metric") or {}).get("name")
        yield from _segment(f"{path}.metric.name", metric, "must specify a metric name")
    elif not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    if name == "containerResource" and not source.get("container"):
        yield required(f"{path}.container", "must specify a container")
    elif name == "containerResource":
        problems = label_problems(source["container"])
        yield from (invalid(f"{path}.container", source["container"], problem) for problem in problems)
    yield from _target(target, f"{path}.target")
    if name == "pods" and target.get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")
    if name in ("resource", "containerResource"):
        yield from _utilization(target, f"{path}.target")
    has_value, has_average = (target.get(n) is not None for n in ("value", "averageValue"))
    if name in _EITHER and not has_value and not has_average:
        yield required(f"{path}.target.averageValue", _EITHER[name])
    if name == "external" and has_value and has_average:
        detail = "may not set both a target value for metric and a per-pod target"
        yield forbidden(f"{path}.target.value", detail)


def _utilization(target: JSONObject, path: str) -> Iterator[FieldError]:
    has_share, has_value = (target.get(n) is not None for n in ("averageUtilization", "averageValue"))
    if not has_share and not has_value:
        yield required(f"{path}.averageUtilization", _UTILIZATION)
    if has_share and has_value:
        detail = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.averageValue", detail)


def _target(target: JSONObject, path: str) -> Iterator[FieldError]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        parsed = parse_quantity(str(target[name])) if target.get(name) is not None else None
        if parsed is not None and parsed[0] <= 0:
            yield invalid(f"{path}.{name}", target[name], "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _scaling(rules: JSONObject, path: str) -> Iterator[FieldError]:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _MOST_WINDOW:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, f"must be less than or equal to {_MOST_WINDOW}")
    if rules.get("selectPolicy") not in (None, "Disabled", "Max", "Min"):
        yield not_supported(f"{path}.selectPolicy", rules["selectPolicy"], ("Disabled", "Max", "Min"))
    if not rules.get("policies"):
        yield required(f"{path}.policies", "must specify at least one Policy")
    for i, policy in enumerate(rules.get("policies") or ()):
        yield from _policy(policy, f"{path}.policies[{i}]")
    tolerance = rules.get("tolerance")
    parsed = parse_quantity(str(tolerance)) if tolerance is not None else None
    if parsed is not None and parsed[0] < 0:
        yield invalid(f"{path}.tolerance", tolerance, NOT_NEGATIVE)


def _policy(policy: JSONObject, path: str) -> Iterator[FieldError]:
    if policy.get("type") not in ("Percent", "Pods"):
        yield not_supported(f"{path}.type", policy.get("type") or "", ("Percent", "Pods"))
    for name in ("value", "periodSeconds"):
        if policy.get(name, 0) <= 0:
            yield invalid(f"{path}.{name}", policy.get(name, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > _MOST_PERIOD:
        yield invalid(f"{path}.periodSeconds", policy["periodSeconds"], f"must be less than or equal to {_MOST_PERIOD}")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"horizontalpodautoscalers": _autoscaler}
