"""Validate scheduling of a Pod: gates, tolerations, spread.

Rule: ValidatePodSpec and what it calls in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_value_problems, qualified_name_problems
from applyviz.kubernetes.parity.status import FieldError, duplicate, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WITHOUT_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")


def validate_scheduling(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod's scheduling."""
    for i, gate in enumerate(spec.get("readinessGates") or ()):
        kind, at = gate.get("conditionType", ""), f"{path}.readinessGates[{i}].conditionType"
        yield from (invalid(at, kind, problem) for problem in qualified_name_problems(kind))
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        name, at = gate.get("name", ""), f"{path}.schedulingGates[{i}]"
        yield from (invalid(at, name, problem) for problem in qualified_name_problems(name))
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
    spreads = spec.get("topologySpreadConstraints") or ()
    for i, spread in enumerate(spreads):
        yield from _validate_spread(spread, spreads[i + 1 :], f"{path}.topologySpreadConstraints[{i}]")
    yield from validate_tolerations(spec.get("tolerations") or (), f"{path}.tolerations")


def validate_tolerations(tolerations: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    """Yield the problems of tolerations."""
    for i, toleration in enumerate(tolerations):
        yield from _validate_toleration(toleration, f"{path}[{i}]")


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
    else:  # a gate that is off by default allows the others, and they are listed where they are asked for
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield not_supported(f"{path}.operator", operator, known)
    effect = toleration.get("effect")
    if effect and effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def _validate_spread(spread: JSONObject, others: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    """Yield the problems of a constraint; `others` are those that follow it."""
    skew, key, when = spread.get("maxSkew", 0), spread.get("topologyKey", ""), spread.get("whenUnsatisfiable", "")
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if when not in _UNSATISFIABLE:
        yield not_supported(f"{path}.whenUnsatisfiable", when, _UNSATISFIABLE)
    if any((o.get("topologyKey", ""), o.get("whenUnsatisfiable", "")) == (key, when) for o in others):
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
    if spread.get("matchLabelKeys") and spread.get("labelSelector") is None:
        yield forbidden(f"{path}.matchLabelKeys", "must not be specified when labelSelector is not set")
    least = spread.get("minDomains")
    if least is not None and least <= 0:
        yield invalid(f"{path}.minDomains", least, "must be greater than zero")
    if least is not None and when != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
        yield invalid(f"{path}.minDomains", least, detail)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if spread.get(name) not in (*_INCLUSION, None):
            yield not_supported(f"{path}.{name}", spread[name], _INCLUSION)
    yield from validate_selector(spread.get("labelSelector"), f"{path}.labelSelector")
