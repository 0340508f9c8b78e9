"""Validation of limit ranges, of classes of ingresses and of APIServices.

Rule: `pkg/apis/core/validation` and `pkg/apis/networking/validation` of k8s.io/kubernetes v1.36.3, and
`pkg/apis/apiregistration/validation` of k8s.io/kube-aggregator v0.36.3.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.name_formats import (
    label_1035_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.kubernetes.parity.status import (
    IMMUTABLE,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)

SERVICES = "apiservices"
_MOST_PRIORITY = {"groupPriorityMinimum": 20000, "versionPriority": 1000}
_LAST_PORT = 65535
_STATUSES = ("True", "False", "Unknown")
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
        yield invalid("spec.controller", controller, IMMUTABLE)


def _service_name(obj: JSONObject) -> Iterator[FieldError]:
    """Yield why name and prefix of names are not those of the version and the group."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    expected = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    for field in ("generateName", "name"):
        name = metadata.get(field) or ""
        if name and name != expected and not path_segment_problems(name):
            yield invalid(f"metadata.{field}", name, f'must be `spec.version+"."+spec.group`: {quote(expected)}')


def _api_service(obj: JSONObject) -> Iterator[FieldError]:
    yield from _service_name(obj)
    spec = obj.get("spec") or {}
    group, version, service = spec.get("group") or "", spec.get("version") or "", spec.get("service")
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    for problem in subdomain_problems(group) if group else ():
        yield invalid("spec.group", group, problem)
    for problem in label_1035_problems(version):
        yield invalid("spec.version", version, problem)
    for name, most in _MOST_PRIORITY.items():
        if not 0 < (priority := spec.get(name) or 0) <= most:
            yield invalid(f"spec.{name}", priority, f"must be positive and less than {most}")
    yield from _local(spec) if service is None else _remote(spec, service)


def _local(spec: JSONObject) -> Iterator[FieldError]:
    if spec.get("caBundle"):
        size = len(base64.b64decode(spec["caBundle"]))
        yield invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        yield invalid("spec.insecureSkipTLSVerify", True, "local APIServices may not have insecureSkipTLSVerify")


def _remote(spec: JSONObject, service: JSONObject) -> Iterator[FieldError]:
    for name in ("namespace", "name"):
        if not service.get(name):
            yield required(f"spec.service.{name}")
    if not 0 < (port := service.get("port") or 0) <= _LAST_PORT:
        detail = f"port is not valid: must be between 1 and {_LAST_PORT}, inclusive"
        yield invalid("spec.service.port", port, detail)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        yield invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def validate_service_conditions(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of the conditions of an APIService."""
    for number, condition in enumerate(get_at(obj, ("status", "conditions")) or ()):
        if (status := condition.get("status") or "") not in _STATUSES:
            yield not_supported(f"status.conditions[{number}].status", status, _STATUSES)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    SERVICES: _api_service,
    "limitranges": _limit_range,
    "ingressclasses": _ingress_class,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "ingressclasses": _ingress_class_update,
}
