"""Validate Pod templates, and what the kinds with templates share.

Rule: ValidatePodTemplateSpec in `pkg/apis/core/validation`, and `pkg/apis/apps/validation` of k8s.io/kubernetes
v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.kubernetes.parity.name_formats import validate_annotations, validate_labels
from applyviz.kubernetes.parity.status import NOT_NEGATIVE, FieldError, forbidden, invalid
from applyviz.kubernetes.v1_36.validation.pods import validate_pod_spec

_PERCENT = re.compile(r"[0-9]+%\Z")


def check_not_negative(spec: JSONObject, name: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of an integer below zero."""
    value = spec.get(name)
    if isinstance(value, int) and value < 0:
        yield invalid(f"{path}.{name}", value, NOT_NEGATIVE)


def selects(selector: JSONObject, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches labels."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(k) != v for k, v in wanted.items()):
        return False
    return all(_expression_holds(e, labels) for e in selector.get("matchExpressions") or ())


def _expression_holds(expression: JSONObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or ()
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return (labels.get(key) in values) if operator == "In" else (labels.get(key) not in values)


def validate_pod_template(template: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod template."""
    meta = template.get("metadata") or {}
    yield from validate_labels(meta.get("labels"), f"{path}.labels")
    yield from validate_annotations(meta.get("annotations"), f"{path}.annotations")
    inner = template.get("spec") or {}
    yield from validate_pod_spec(inner, f"{path}.spec")
    if inner.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def check_int_or_percent(value: JSONValue, path: str) -> Iterator[FieldError]:
    """Yield the problems of a number or a percentage."""
    if isinstance(value, str) and not _PERCENT.match(value):
        yield invalid(
            path,
            value,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')",
        )
    elif isinstance(value, int) and value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def check_whole(value: JSONValue, path: str) -> Iterator[FieldError]:
    """Yield the problem of a percentage above 100."""
    share = read_digits(value[:-1]) if isinstance(value, str) and _PERCENT.match(value) else 0
    if share is None or share > 100:
        yield invalid(path, value, "must not be greater than 100%")
