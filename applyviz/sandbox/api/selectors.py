"""Label and field selectors of lists.

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api and .../field-selectors/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.status import StatusError, bad_request
from applyviz.sandbox.storage.resources import ResourceTarget

_SET = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*\Z")
_COMPARE = re.compile(r"\s*+([^\s!=<>,()]++)\s*+(==|=|!=|>|<)\s*+([^\s,()]*+)\s*+\Z")
_BARE = re.compile(r"\s*+(!?)\s*+([^\s!=<>,()]++)\s*+\Z")
_META = ("metadata.name", "metadata.namespace")
# Further selectable fields, by resource.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "reason",
        "type",
        "reportingComponent",
        "source",
    ),
}

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]


def _split(text: str) -> list[str]:
    """Return the parts between commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _read_test(part: str, whole: str) -> Test:
    if match := _SET.match(part):
        key, operator, values = match.group(1), match.group(2), {v.strip() for v in match.group(3).split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: key not in labels or labels[key] not in values
    if match := _COMPARE.match(part):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if operator in ("<", ">"):
            return _read_order(key, operator, value)
        return lambda labels: labels.get(key) == value
    if match := _BARE.match(part):
        key, wanted = match.group(2), not match.group(1)
        return lambda labels: (key in labels) is wanted
    raise bad_request(f"unable to parse requirement: found '{part.strip()}', expected: identifier in {whole!r}")


def _read_order(key: str, operator: str, value: str) -> Test:
    def test(labels: Labels) -> bool:
        try:
            number, limit = int(labels.get(key, "")), int(value)
        except ValueError:
            return False
        return number > limit if operator == ">" else number < limit

    return test


def read_label_selector(text: str) -> Test:
    """Return the predicate of a label selector.

    - Raises `StatusError` (400) if it is invalid.
    """
    tests = [_read_test(part, text) for part in _split(text) if part.strip()]
    return lambda labels: all(test(labels) for test in tests)


def _refuse_field(name: str, target: ResourceTarget) -> StatusError:
    if target.struct is None or target.plural in _FIELDS:
        return bad_request(f"field label not supported: {name}")
    return bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def read_field_selector(text: str, target: ResourceTarget) -> Callable[[JSONObject], bool]:
    """Return the predicate of a field selector.

    - Raises `StatusError` (400) for a field that does not support selection.
    """
    known = (*_META, *_FIELDS.get(target.plural, ()))
    tests: list[tuple[tuple[str, ...], str, bool]] = []
    for part in text.split(","):
        name, operator, value = _read_field(part)
        if name not in known:
            raise _refuse_field(name, target)
        tests.append((tuple(name.split(".")), value, operator != "!="))
    return lambda obj: all((str(get_at(obj, path) or "") == value) is wanted for path, value, wanted in tests)


def _read_field(part: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        name, found, value = part.partition(operator)
        if found:
            return name.strip(), operator, value.strip()
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
