"""Validate kinds with few rules: nodes, leases, classes, quotas of a namespace.

Rule: `pkg/apis/{core,node,coordination,storage,flowcontrol,apps,networking}/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.field_order import render_ordered
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
    validate_labels,
)
from applyviz.kubernetes.parity.resources_math import has_fraction
from applyviz.kubernetes.parity.status import (
    IMMUTABLE,
    NOT_NEGATIVE,
    FieldError,
    FieldErrorType,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    render_value,
    required,
)
from applyviz.kubernetes.v1_36.validation import priority_levels
from applyviz.kubernetes.v1_36.validation.addresses import validate_network
from applyviz.kubernetes.v1_36.validation.containers import validate_resources
from applyviz.kubernetes.v1_36.validation.scheduling import EFFECTS, validate_tolerations

_PROVIDER = 'node updates may not change providerID except from "" to valid'
_DISTINGUISHERS = ("ByNamespace", "ByUser")
_SUBJECTS = ("Group", "ServiceAccount", "User")
_MOST_PRECEDENCE = 10000


def _node(obj: JSONObject) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        path, (key, value, effect) = f"metadata.taints[{i}]", (taint.get(n, "") for n in ("key", "value", "effect"))
        yield from (invalid(f"{path}.key", key, problem) for problem in qualified_name_problems(key))
        yield from (invalid(f"{path}.value", value, problem) for problem in label_value_problems(value))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in EFFECTS:
            yield not_supported(f"{path}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            shown = render_value({"Key": key, "Value": value, "Effect": effect, "TimeAdded": None})
            detail = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            yield FieldError(FieldErrorType.DUPLICATE, path, detail)
        seen.add((key, effect))


def _node_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    provider = (live.get("spec") or {}).get("providerID")
    if provider and (obj.get("spec") or {}).get("providerID") != provider:
        yield forbidden("spec.providerID", _PROVIDER)


def _lease(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, NOT_NEGATIVE)
    if spec.get("preferredHolder") and not spec.get("strategy"):
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _runtime_class(obj: JSONObject) -> Iterator[FieldError]:
    handler, scheduling = obj.get("handler") or "", obj.get("scheduling") or {}
    if not handler:
        yield required("handler")
    yield from (invalid("handler", handler, problem) for problem in (label_problems(handler) if handler else ()))
    yield from validate_resources({"limits": (obj.get("overhead") or {}).get("podFixed")}, "overhead", set())
    yield from validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or ()
    yield from validate_tolerations(tolerations, "scheduling.tolerations")
    for i, toleration in enumerate(tolerations):
        if toleration in tolerations[:i]:
            names = {name: toleration.get(name.lower(), "") for name in ("Key", "Operator", "Value", "Effect")}
            shown = render_ordered({**names, "TolerationSeconds": toleration.get("tolerationSeconds")})
            yield FieldError(FieldErrorType.DUPLICATE, f"scheduling.tolerations[{i}]", f"Duplicate value: {shown}")


def _csi_node(obj: JSONObject) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{i}]", driver.get("name", "")
        if not name:
            yield required(f"{path}.name")
        problems = subdomain_problems(name.lower()) if name else []
        yield from (invalid(f"{path}.name", name, problem) for problem in problems)
        if not driver.get("nodeID"):
            yield required(f"{path}.nodeID")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)


def _csi_node_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    drivers = (obj.get("spec") or {}).get("drivers") or ()
    for before in (live.get("spec") or {}).get("drivers") or ():
        for driver in drivers:
            is_other = any(driver.get(n) != before.get(n) for n in ("nodeID", "topologyKeys"))
            if driver.get("name") == before.get("name") and is_other:
                names = {"Name": driver.get("name"), "NodeID": driver.get("nodeID", "")}
                shown = {**names, "TopologyKeys": driver.get("topologyKeys"), "Allocatable": None}
                yield invalid("spec.drivers", shown, IMMUTABLE)


def _flow_schema(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    precedence, method = spec.get("matchingPrecedence", 0), spec.get("distinguisherMethod")
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(path, precedence, "must be a positive value")
    if precedence > _MOST_PRECEDENCE:
        yield invalid(path, precedence, f"must not be greater than {_MOST_PRECEDENCE}")
    if precedence == 1 and obj["metadata"].get("name") != "exempt":
        yield invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        yield not_supported("spec.distinguisherMethod.type", {"Type": method.get("type", "")}, _DISTINGUISHERS)
    if not (spec.get("priorityLevelConfiguration") or {}).get("name"):
        yield required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for i, rule in enumerate(spec.get("rules") or ()):
        yield from _flow_rule(rule, f"spec.rules[{i}]")


def _flow_rule(rule: JSONObject, path: str) -> Iterator[FieldError]:
    if not rule.get("subjects"):
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    for i, subject in enumerate(rule.get("subjects") or ()):
        if subject.get("kind") not in _SUBJECTS:
            yield not_supported(f"{path}.subjects[{i}].kind", subject.get("kind", ""), _SUBJECTS)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")


def _revision(obj: JSONObject) -> Iterator[FieldError]:
    if obj.get("revision", 0) < 0:
        yield invalid("revision", obj["revision"], NOT_NEGATIVE)


def _attributes_class(obj: JSONObject) -> Iterator[FieldError]:
    if not obj.get("driverName"):
        yield required("driverName")
    if not obj.get("parameters"):
        yield required("parameters", "must contain at least one key/value pair")


def validate_service_range(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of the networks of a ServiceCIDR."""
    cidrs = (obj.get("spec") or {}).get("cidrs") or []
    if not cidrs:
        yield required("spec.cidrs", "at least one CIDR required")
    for i, text in enumerate(cidrs):
        yield from validate_network(text, f"spec.cidrs[{i}]")
    if len(cidrs) == 2 and len({":" in text for text in cidrs}) == 1:
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield invalid("spec.cidrs", cidrs, detail)


def _quota(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    for name, text in (spec.get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        yield from _quota_name(name, path)
        parsed = parse_quantity(str(text))
        if parsed is None:
            continue
        if parsed[0] < 0:
            yield invalid(path, text, NOT_NEGATIVE)
        if (name in _INTEGERS or name.startswith("count/")) and has_fraction(str(text)):
            yield invalid(path, text, "must be an integer")
    yield from _quota_scopes(spec.get("scopes") or [], spec.get("hard") or {})
    for expression in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield from _quota_selector(expression, "spec.scopeSelector.matchExpressions")


def _quota_name(name: str, path: str) -> Iterator[FieldError]:
    problems = qualified_name_problems(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if "/" in name or name.startswith(("hugepages-", "requests.hugepages-")):
        return
    if not problems and name not in _STANDARD and name not in _INTEGERS:
        yield invalid(path, name, "must be a standard resource type or fully qualified")
    if name not in _STANDARD and name not in _INTEGERS:
        yield invalid(path, name, "must be a standard resource for quota")


def _quota_scopes(scopes: list[str], hard: Collection[str]) -> Iterator[FieldError]:
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        counted = _SCOPED.get(scope)
        for name in hard:
            if counted is not None and name in _STANDARD | _INTEGERS and name not in counted:
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if set(pair) <= set(scopes):
            yield invalid("spec.scopes", scopes, "conflicting scopes")


def _quota_selector(expression: JSONObject, path: str) -> Iterator[FieldError]:
    scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
    values = expression.get("values") or []
    if scope not in _SCOPES:
        yield invalid(f"{path}.scopeName", scope, "unsupported scope")
    elif scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
        yield invalid(f"{path}.operator", operator, _ONLY_EXISTS)
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _quota_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    scopes = obj["spec"].get("scopes") or []
    if set(scopes) != set(live["spec"].get("scopes") or ()):
        yield invalid("spec.scopes", scopes or None, IMMUTABLE)


_STANDARD = frozenset(
    {
        *(f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")),
        "requests.storage",
    }
)
_INTEGERS = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
_SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)  # fmt: skip
_OF_PODS = frozenset(
    {"pods", *(f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory"))}
)
# The resources that a scope can restrict.
_SCOPED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_SCOPES[:-1], _OF_PODS),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _unchecked(obj: JSONObject) -> Iterator[FieldError]:
    """Yield nothing: what cannot be changed is not checked again."""
    yield from ()


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "nodes": _node,
    "leases": _lease,
    "runtimeclasses": _runtime_class,
    "csinodes": _csi_node,
    "flowschemas": _flow_schema,
    "prioritylevelconfigurations": priority_levels.validate_priority_level,
    "controllerrevisions": _revision,
    "volumeattributesclasses": _attributes_class,
    "servicecidrs": validate_service_range,
    "resourcequotas": _quota,
}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "servicecidrs": _unchecked,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "nodes": _node_update,
    "csinodes": _csi_node_update,
    "resourcequotas": _quota_update,
}
