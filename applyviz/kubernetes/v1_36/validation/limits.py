"""Validation of limit ranges and of classes of ingresses.

Rule: `pkg/apis/core/validation` and `pkg/apis/networking/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import path_segment_problems, qualified_name_problems, subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, duplicate, forbidden, invalid, not_supported, required

_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_PARTS = ("max", "min", "default", "defaultRequest")
_RESOURCES = frozenset(
    {
        *(f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")),
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "storage"),
        *("persistentvolumeclaims", "requests.storage", "services.nodeports", "services.loadbalancers"),
    }
)
# Pairs of limits, of which the first must not exceed the second: the field to name, its value, and the names of both.
_ORDERS = (
    ("min", "max", "min", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
)


def _limit_range(obj: JSONObject) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{number}]", limit.get("type") or ""
        problems = qualified_name_problems(kind)
        for problem in problems:
            yield invalid(f"{path}.type", kind, problem)
        if not problems and "/" not in kind and kind not in _LIMIT_TYPES:
            yield invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _limit(limit, kind, path)


def _limit(limit: JSONObject, kind: str, path: str) -> Iterator[FieldError]:
    parts = {name: limit.get(name) or {} for name in _PARTS}
    if kind == "Pod":
        for name in ("default", "defaultRequest"):
            if parts.pop(name):
                yield forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
    for name, found in parts.items():
        for key in found:
            yield from _resource(key, kind, f"{path}.{name}[{key}]")
    if kind == "PersistentVolumeClaim" and not any("storage" in parts[n] for n in ("min", "max")):
        yield required(
            f"{path}.limits", "either minimum or maximum storage value is required, but neither was provided"
        )
    yield from _ratios(limit, kind, f"{path}.maxLimitRequestRatio")
    for key in dict.fromkeys(key for found in parts.values() for key in found):
        for less, more, field, shown, *words in _ORDERS:
            low, high = parts.get(less, {}).get(key), parts.get(more, {}).get(key)
            if low is not None and high is not None and _worth(low) > _worth(high):
                detail = f"{words[0]} value {low} is greater than {words[1]} value {high}"
                yield invalid(f"{path}.{field}[{key}]", parts[shown][key], detail)


def _ratios(limit: JSONObject, kind: str, path: str) -> Iterator[FieldError]:
    low, high = (limit.get(name) or {} for name in ("min", "max"))
    for key, text in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _resource(key, kind, f"{path}[{key}]")
        if _worth(text) < 1:
            yield invalid(f"{path}[{key}]", text, f"ratio {text} is less than 1")
        if key in low and key in high and _worth(low[key]) and _worth(text) > _worth(high[key]) / _worth(low[key]):
            share = float(_worth(high[key]) / _worth(low[key]))
            yield invalid(f"{path}[{key}]", text, f"ratio {text} is greater than max/min = {share:f}")


def _worth(text: str) -> Decimal:
    parsed = parse_quantity(str(text))
    return parsed[0] if parsed is not None else Decimal(0)


def _resource(key: str, kind: str, path: str) -> Iterator[FieldError]:
    problems = qualified_name_problems(key)
    for problem in problems:
        yield invalid(path, key, problem)
    if not problems and "/" not in key and key not in _RESOURCES and not key.startswith("hugepages-"):
        yield invalid(path, key, "must be a standard resource type or fully qualified")
    if "/" not in key and kind in ("Pod", "Container") and key not in _STANDARD and not key.startswith("hugepages-"):
        yield invalid(path, key, "must be a standard resource for containers")


def _ingress_class(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    controller = spec.get("controller") or ""
    host, slash, rest = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not slash or not host or not rest:
        yield invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for problem in subdomain_problems(host):
            yield invalid("spec.controller", host, problem)
    parameters = spec.get("parameters")
    if parameters is not None:
        yield from _parameters(parameters, "spec.parameters")


def _parameters(parameters: JSONObject, path: str) -> Iterator[FieldError]:
    group = parameters.get("apiGroup")
    for problem in subdomain_problems(group) if group is not None else ():
        yield invalid(f"{path}.apiGroup", group, problem)
    for name in ("kind", "name"):
        value = parameters.get(name) or ""
        if not value:
            yield required(f"{path}.{name}")
        for problem in path_segment_problems(value):
            yield invalid(f"{path}.{name}", value, problem)
    scope, has_namespace = parameters.get("scope"), parameters.get("namespace") is not None
    if scope not in ("Cluster", "Namespace"):
        yield not_supported(f"{path}.scope", scope or "", ("Cluster", "Namespace"))
    elif scope == "Namespace" and not has_namespace:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Cluster" and has_namespace:
        yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def _ingress_class_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    controller = obj["spec"].get("controller") or ""
    if controller != (live["spec"].get("controller") or ""):
        yield invalid("spec.controller", controller, "field is immutable")


def _api_service(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        yield invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "apiservices": _api_service,
    "limitranges": _limit_range,
    "ingressclasses": _ingress_class,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "ingressclasses": _ingress_class_update,
}
