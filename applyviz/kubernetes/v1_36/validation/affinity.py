"""Validate the affinity of a Pod to nodes and to other Pods.

Rule: validateAffinity in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, qualified_name_problems
from applyviz.kubernetes.parity.status import FieldError, invalid, required
from applyviz.kubernetes.v1_36.validation.selectors import (
    validate_node_selector,
    validate_node_term,
    validate_selector,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(affinity: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of an affinity."""
    nodes = affinity.get("nodeAffinity") or {}
    if nodes.get(_REQUIRED) is not None:
        yield from validate_node_selector(nodes[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    for i, term in enumerate(nodes.get(_PREFERRED) or ()):
        at = f"{path}.nodeAffinity.{_PREFERRED}[{i}]"
        yield from _validate_weight(term, at)
        yield from validate_node_term(term.get("preference") or {}, f"{at}.preference")
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name) or {}
        for i, term in enumerate(pods.get(_REQUIRED) or ()):
            yield from _validate_pod_term(term, f"{path}.{name}.{_REQUIRED}[{i}]")
        for i, term in enumerate(pods.get(_PREFERRED) or ()):
            at = f"{path}.{name}.{_PREFERRED}[{i}]"
            yield from _validate_weight(term, at)
            yield from _validate_pod_term(term.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _validate_weight(term: JSONObject, path: str) -> Iterator[FieldError]:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_pod_term(term: JSONObject, path: str) -> Iterator[FieldError]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from validate_selector(term.get(name), f"{path}.{name}")
    for namespace in term.get("namespaces") or ():
        yield from (invalid(f"{path}.namespace", namespace, problem) for problem in label_problems(namespace))
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from (invalid(f"{path}.topologyKey", key, problem) for problem in qualified_name_problems(key))
