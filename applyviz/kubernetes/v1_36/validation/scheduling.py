"""Validate scheduling and security of a Pod: selectors, tolerations, affinity, spread, security contexts.

Rule: `ValidatePodSpec` and what it calls in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    label_value_problems,
    qualified_name_problems,
    validate_labels,
)
from applyviz.kubernetes.parity.status import FieldError, invalid, not_supported, required

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WITHOUT_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_LARGEST_ID = 2147483647
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def validate_scheduling(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod's scheduling and security."""
    yield from validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from _validate_security(spec.get("securityContext") or {}, f"{path}.securityContext")
    for name in ("hostname", "subdomain"):
        for problem in label_problems(spec[name]) if spec.get(name) else ():
            yield invalid(f"{path}.{name}", spec[name], problem)
    for i, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _validate_toleration(toleration, f"{path}.tolerations[{i}]")
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        for i, term in enumerate((affinity.get(name) or {}).get(_REQUIRED_TERMS) or ()):
            yield from _validate_topology_key(term, f"{path}.affinity.{name}.{_REQUIRED_TERMS}[{i}]")
    for i, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield from _validate_spread(spread, f"{path}.topologySpreadConstraints[{i}]")


def _validate_toleration(toleration: JSONObject, path: str) -> Iterator[FieldError]:
    key, operator, value = (toleration.get(n, "") for n in ("key", "operator", "value"))
    for problem in qualified_name_problems(key) if key else ():
        yield invalid(f"{path}.key", key, problem)
    if not key and operator != "Exists":
        yield invalid(f"{path}.operator", operator, _WITHOUT_KEY)
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        yield invalid(
            f"{path}.effect", toleration.get("effect", ""), "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        for problem in label_value_problems(value):
            yield invalid(f"{path}.operator", value, problem)
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def _validate_topology_key(term: JSONObject, path: str) -> Iterator[FieldError]:
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    for problem in qualified_name_problems(key):
        yield invalid(f"{path}.topologyKey", key, problem)


def _validate_spread(spread: JSONObject, path: str) -> Iterator[FieldError]:
    skew, key, when = spread.get("maxSkew", 0), spread.get("topologyKey", ""), spread.get("whenUnsatisfiable", "")
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if when not in _UNSATISFIABLE:
        yield not_supported(f"{path}.whenUnsatisfiable", when, _UNSATISFIABLE)


def _validate_security(context: JSONObject, path: str) -> Iterator[FieldError]:
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        value = context.get(name)
        if value is not None and not 0 <= value <= _LARGEST_ID:
            yield invalid(f"{path}.{name}", value, f"must be between 0 and {_LARGEST_ID}, inclusive")
