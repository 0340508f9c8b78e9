"""Validate label selectors, and selectors of nodes.

Rule: ValidateLabelSelector of k8s.io/apimachinery v0.36.3; ValidateNodeSelector in `pkg/apis/core/validation` of
k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import (
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
    validate_labels,
)
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, required

_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_REFUSES_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_ONE_VALUE = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
_NEEDS_ONE = "must be specified single value when `operator` is 'Lt' or 'Gt'"


def validate_selector(selector: JSONObject | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of a label selector."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _validate_requirement(expression, f"{path}.matchExpressions[{i}]", is_node=False)


def validate_node_selector(selector: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the terms that select nodes."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        yield from validate_node_term(term, f"{path}.nodeSelectorTerms[{i}]")


def validate_node_term(term: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of one term that selects nodes."""
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _validate_requirement(requirement, f"{path}.matchExpressions[{i}]", is_node=True)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        yield from _validate_field(requirement, f"{path}.matchFields[{i}]")


def _validate_field(requirement: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a requirement of a field of nodes, of which only the name can be selected."""
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or []
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        yield required(f"{path}.values", _ONE_VALUE)
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for i, value in enumerate(values):
        yield from (invalid(f"{path}.values[{i}]", value, problem) for problem in subdomain_problems(value))


def _validate_requirement(requirement: JSONObject, path: str, *, is_node: bool) -> Iterator[FieldError]:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", _NEEDS_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", _REFUSES_VALUES)
    elif is_node and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", _NEEDS_ONE)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from (invalid(f"{path}.key", key, problem) for problem in qualified_name_problems(key))
    for i, value in enumerate(values):
        yield from (invalid(f"{path}.values[{i}]", value, problem) for problem in label_value_problems(value))


def order_selector(selector: JSONObject | None) -> JSONObject | None:
    """Return a label selector with its fields in the order in which a server prints them."""
    if selector is None:
        return None
    fields = ("key", "operator", "values")
    ordered = {name: selector[name] for name in ("matchLabels", "matchExpressions") if selector.get(name)}
    if "matchExpressions" in ordered:
        ordered["matchExpressions"] = [{n: e[n] for n in fields if n in e} for e in selector["matchExpressions"]]
    return ordered
