"""Check the expressions of webhooks, admission policies and devices: that they can be read, and their types.

Rule: `pkg/admission/plugin/cel/compile.go` of k8s.io/apiserver v0.36.3, and `cel/compile.go` of
k8s.io/dynamic-resource-allocation v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.status import FieldError, invalid
from applyviz.kubernetes.v1_36.validation import devices
from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.static_types import BOOL, DYN, ERROR, INT, NULL, STRING, StaticType, list_of, map_of
from applyviz.sandbox.cel.syntax import NotReadableError, parse
from applyviz.sandbox.cel.type_checker import Variables, check_expression
from applyviz.sandbox.storage.resources import ResourceTarget

_POLICIES = ("validatingadmissionpolicies", "mutatingadmissionpolicies")
_TYPE_NAMES = {"null": "null_type"}
_MESSAGES = {
    "null": "null_type", "duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp",
}  # fmt: skip
# A macro that only expressions of devices have; types are not followed through it.
_BIND = "cel.bind"
_WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


def _struct(name: str, fields: Mapping[str, StaticType]) -> StaticType:
    return StaticType(f"kubernetes.{name}", (), fields)


def _texts(*names: str) -> Mapping[str, StaticType]:
    return dict.fromkeys(names, STRING)


_KIND = _struct("GroupVersionKind", _texts("group", "version", "kind"))
_RESOURCE = _struct("GroupVersionResource", _texts("group", "version", "resource"))
_USER = _struct(
    "UserInfo",
    {**_texts("username", "uid"), "groups": list_of(STRING), "extra": map_of(STRING, list_of(STRING))},
)
_REQUEST: Final = _struct(
    "AdmissionRequest",
    {
        **_texts("subResource", "requestSubResource", "name", "namespace", "operation"),
        "kind": _KIND,
        "requestKind": _KIND,
        "resource": _RESOURCE,
        "requestResource": _RESOURCE,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_TIME = StaticType("timestamp")
_META = _struct(
    "NamespaceMetadata",
    {
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": list_of(STRING),
    },
)
_CONDITION = _struct(
    "NamespaceCondition", {**_texts("status", "type", "message", "reason"), "lastTransitionTime": _TIME}
)
_NAMESPACE = _struct(
    "Namespace",
    {
        "metadata": _META,
        "spec": _struct("NamespaceSpec", {"finalizers": list_of(STRING)}),
        "status": _struct("NamespaceStatus", {"conditions": list_of(_CONDITION), "phase": STRING}),
    },
)
_VARIABLES: Final[Variables] = {
    **dict.fromkeys(("object", "oldObject"), DYN),
    "namespaceObject": _NAMESPACE,
    "authorizer": _struct("authorization.Authorizer", {}),
    "authorizer.requestResource": _struct("authorization.ResourceCheck", {}),
    "request": _REQUEST,
}

# What an attribute is, only a device tells.
_DEVICES: Final[Variables] = {
    "device": _struct(
        "DRADevice",
        {
            "driver": STRING,
            "attributes": map_of(STRING, map_of(STRING, DYN)),
            "capacity": map_of(STRING, map_of(STRING, StaticType("kubernetes.Quantity"))),
            "allowMultipleAllocations": BOOL,
        },
    )
}


def validate_expressions(target: ResourceTarget, obj: JSONObject) -> Iterator[FieldError]:
    """Yield the expressions that the server refuses to compile."""
    if target.plural in _WEBHOOKS:
        for i, hook in enumerate(obj.get("webhooks") or ()):
            yield from _check_all(f"webhooks[{i}].matchConditions", hook.get("matchConditions"), _VARIABLES, BOOL)
    elif target.plural in _POLICIES:
        yield from _check_policy(obj)
    else:
        for path, text in devices.list_expressions(target.plural, obj):
            problem = _check_device(text)
            if problem:
                yield invalid(path, text, problem)


def _check_policy(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of a policy; a variable has the type of its expression, and is there for those below it."""
    has_params = get_at(obj, ("spec", "paramKind")) is not None
    scope = {**_VARIABLES, **({"params": DYN} if has_params else {})}
    yield from _check_all("spec.matchConditions", get_at(obj, ("spec", "matchConditions")), scope, BOOL)
    kinds: dict[str, StaticType] = {}
    for i, variable in enumerate(get_at(obj, ("spec", "variables")) or ()):
        known = {**scope, "variables": _struct("variables", kinds)}
        text = variable.get("expression") or ""
        found, problem = check_expression(text, known) if text.strip() else (ERROR, "")
        if problem:
            yield invalid(f"spec.variables[{i}].expression", text, problem)
        kinds[variable.get("name") or ""] = found
    known = {**scope, "variables": _struct("variables", kinds)} if kinds else scope
    validations = get_at(obj, ("spec", "validations"))
    yield from _check_all("spec.validations", validations, known, BOOL)
    yield from _check_all("spec.validations", validations, known, STRING, field="messageExpression")
    annotations = get_at(obj, ("spec", "auditAnnotations"))
    yield from _check_all("spec.auditAnnotations", annotations, known, STRING, NULL, field="valueExpression")


def _check_device(text: str) -> str:
    if _BIND in text:
        return _read(text)
    found, problem = check_expression(text, _DEVICES)
    if problem or found in (BOOL, DYN, ERROR):
        return problem
    name = str(found).replace("dyn", "google.protobuf.Any")
    return f"must evaluate to bool or the unknown type, not {_MESSAGES.get(name, name)}"


def _read(text: str) -> str:
    try:
        parse(text)
    except NotReadableError as error:
        return f"compilation failed: {error}"
    return ""


def _check_all(
    path: str,
    entries: list[JSONObject] | None,
    scope: Variables,
    *wanted: StaticType,
    field: str = "expression",
) -> Iterator[FieldError]:
    for i, entry in enumerate(entries or ()):
        text = entry.get(field) or ""
        if field == "expression" and path.endswith("matchConditions"):
            text = text.strip()
        compiled = text.strip() if field == "valueExpression" else text
        problem = _check(compiled, scope, wanted) if text.strip() else ""  # an empty one is refused as such
        if problem:
            yield invalid(f"{path}[{i}].{field}", text, problem)


def _check(text: str, scope: Variables, wanted: Sequence[StaticType]) -> str:
    found, problem = check_expression(text, scope)
    if problem or found in (*wanted, ERROR):
        return problem
    names = [_TYPE_NAMES.get(str(one), str(one)) for one in (*wanted, found)]
    allowed = names[0] if len(wanted) == 1 else f"one of [{' '.join(names[:-1])}]"
    return f"must evaluate to {allowed} but got {names[-1]}"
