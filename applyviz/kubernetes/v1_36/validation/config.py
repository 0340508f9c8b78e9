"""Validation of configuration, storage, access and definitions.

Rule: `pkg/apis/core/validation`, `pkg/apis/rbac/validation`, `pkg/apis/policy/validation`,
k8s.io/apiextensions-apiserver `pkg/apis/apiextensions/validation`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.known_names import FOREGROUND, ORPHAN
from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.kubernetes.parity.json_text import find_fault
from applyviz.kubernetes.parity.name_formats import (
    config_key_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.kubernetes.parity.status import (
    IMMUTABLE,
    FieldError,
    forbidden,
    invalid,
    invalid_struct,
    not_supported,
    required,
    too_long,
)
from applyviz.kubernetes.v1_36.validation.claim_updates import validate_claim_update
from applyviz.kubernetes.v1_36.validation.claims import validate_claim_spec
from applyviz.kubernetes.v1_36.validation.pods import PREEMPTION
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector
from applyviz.kubernetes.v1_36.validation.templates import check_int_or_percent, check_whole

_RBAC = "rbac.authorization.k8s.io"
_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)
_EVICTION = ("AlwaysAllow", "IfHealthyBudget")
_MEGABYTE = 1024 * 1024


def _keys(obj: JSONObject, *maps: str) -> Iterator[FieldError]:
    size = 0
    for name in maps:
        for key, value in sorted((obj.get(name) or {}).items()):
            value = value or ""
            for problem in config_key_problems(key):
                yield invalid(f"{name}[{key}]", key, problem)
            if name == "data" and key in (obj.get("binaryData") or {}):
                yield invalid(f"{name}[{key}]", key, "duplicate of key present in binaryData")
            size += len(value)
    if size > _MEGABYTE * (4 / 3 if "type" in obj else 1):
        yield too_long("" if "type" in obj else "[]", _MEGABYTE)


def _config_map(obj: JSONObject) -> Iterator[FieldError]:
    yield from _keys(obj, "data", "binaryData")


_SYSTEM_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
_MOST_PRIORITY = 1_000_000_000
_SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _secret(obj: JSONObject) -> Iterator[FieldError]:
    yield from _keys(obj, "data")
    data, kind = obj.get("data") or {}, obj.get("type", "")
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
    for key in (k for k in (".dockerconfigjson", ".dockercfg") if k in data and k in _SECRET_KEYS.get(kind, ())):
        yield from _registry_credentials(data[key], f"data[{key}]")
    if kind == "kubernetes.io/service-account-token":
        annotations = obj["metadata"].get("annotations") or {}
        if not annotations.get("kubernetes.io/service-account.name"):
            yield required("metadata.annotations[kubernetes.io/service-account.name]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        yield required("data[username]")
        yield required("data[password]")


def _registry_credentials(encoded: str, path: str) -> Iterator[FieldError]:
    """Yield the problems of registry credentials, a JSON object whose value is never shown."""
    text = base64.b64decode(encoded)
    problem = find_fault(text)
    if not problem:
        found = json.loads(text)
        word = _GO_WORDS.get(type(found))
        problem = f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}" if word else ""
    if problem:
        yield invalid(path, "<secret contents redacted>", problem)


_GO_WORDS = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def _immutable_data(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("type") != live.get("type"):
        yield invalid("type", obj.get("type"), IMMUTABLE)
    if not live.get("immutable"):
        return
    if not obj.get("immutable"):
        yield forbidden("immutable", "field is immutable when `immutable` is set")
    for name in ("data", "binaryData"):
        if not is_same_json(obj.get(name), live.get(name)):
            yield forbidden(name, "field is immutable when `immutable` is set")


def _claim(obj: JSONObject) -> Iterator[FieldError]:
    yield from validate_claim_spec(obj["spec"], "spec")


def _namespace(obj: JSONObject) -> Iterator[FieldError]:
    for name in (obj.get("spec") or {}).get("finalizers") or ():
        yield from (invalid("spec.finalizers", name, problem) for problem in qualified_name_problems(name))
        if "/" not in name and name not in _FINALIZERS:
            yield invalid(
                "spec.finalizers", name, "name is neither a standard finalizer name nor is it fully qualified"
            )


def _budget(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield invalid_struct("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        yield from check_int_or_percent(spec.get(name), f"spec.{name}")
        yield from check_whole(spec.get(name), f"spec.{name}")
    yield from validate_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy not in (*_EVICTION, None):
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION)


def _role(obj: JSONObject) -> Iterator[FieldError]:
    for i, rule in enumerate(obj.get("rules") or ()):
        if not rule.get("verbs"):
            yield required(f"rules[{i}].verbs", "verbs must contain at least one value")
        urls = rule.get("nonResourceURLs")
        if urls:
            if obj["kind"] == "Role":
                detail = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"rules[{i}].nonResourceURLs", urls, detail)
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"rules[{i}].nonResourceURLs", urls, detail)
            continue
        if not rule.get("apiGroups"):
            yield required(f"rules[{i}].apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"rules[{i}].resources", "resource rules must supply at least one resource")


def _cluster_role(obj: JSONObject) -> Iterator[FieldError]:
    yield from _role(obj)
    rule, path = obj.get("aggregationRule"), "aggregationRule.clusterRoleSelectors"
    if rule is not None and not rule.get("clusterRoleSelectors"):
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for i, selector in enumerate((rule or {}).get("clusterRoleSelectors") or ()):
        problems = list(validate_selector(selector, f"{path}[{i}]"))
        yield from problems
        if problems:  # the server prints the parsed selector, which there is none of
            yield invalid(f"{path}[{i}]", None, "invalid label selector.")


_RBAC = "rbac.authorization.k8s.io"


def _binding(obj: JSONObject) -> Iterator[FieldError]:
    ref, is_namespaced = obj["roleRef"], obj["kind"] == "RoleBinding"
    if ref.get("apiGroup") != _RBAC:
        yield not_supported("roleRef.apiGroup", ref.get("apiGroup"), (_RBAC,))
    kinds = ("Role", "ClusterRole") if is_namespaced else ("ClusterRole",)
    if ref.get("kind") not in kinds:
        yield not_supported("roleRef.kind", ref.get("kind"), kinds)
    if not ref.get("name"):
        yield required("roleRef.name")
    else:
        yield from (invalid("roleRef.name", ref["name"], problem) for problem in path_segment_problems(ref["name"]))
    for i, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{i}]", is_namespaced=is_namespaced)


def _subject(subject: JSONObject, path: str, *, is_namespaced: bool) -> Iterator[FieldError]:
    name, kind, group = subject.get("name") or "", subject.get("kind"), subject.get("apiGroup") or ""
    if not name:
        yield required(f"{path}.name")
    if kind not in ("ServiceAccount", "User", "Group"):
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
    elif kind != "ServiceAccount":
        if group != _RBAC:
            yield not_supported(f"{path}.apiGroup", group, (_RBAC,))
    else:
        yield from (invalid(f"{path}.name", name, problem) for problem in (subdomain_problems(name) if name else ()))
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")


def _binding_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("roleRef") != live.get("roleRef"):
        shown = {name[:1].upper() + name[1:]: obj["roleRef"].get(name, "") for name in ("kind", "name")}
        yield invalid("roleRef", {"APIGroup": obj["roleRef"].get("apiGroup", ""), **shown}, "cannot change roleRef")


def _priority_class(obj: JSONObject) -> Iterator[FieldError]:
    name, value = obj["metadata"].get("name", ""), obj.get("value") or 0
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
        yield forbidden("metadata.name", f"{detail}{name} is not a known system priority class")
    elif value > _MOST_PRIORITY and name not in _SYSTEM_CLASSES:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_MOST_PRIORITY}")


def _new_priority_class(obj: JSONObject) -> Iterator[FieldError]:
    yield from _priority_class(obj)
    policy = obj.get("preemptionPolicy")
    if policy not in (*PREEMPTION, None):
        yield not_supported("preemptionPolicy", policy, PREEMPTION)


def _priority_class_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("value") != live.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    if obj.get("preemptionPolicy") != live.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", obj.get("preemptionPolicy"), IMMUTABLE)


_ADDABLE = "controllerExpandSecretRef"
_VOLUME_FREE = frozenset(
    {
        *("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName"),
        *("mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName"),
    }
)


def _volume_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    source, before = ({k: v for k, v in o["spec"].items() if k not in _VOLUME_FREE} for o in (obj, live))
    if source.get("csi") and before.get("csi") and _ADDABLE not in before["csi"]:  # it may be added
        source["csi"] = {k: v for k, v in source["csi"].items() if k != _ADDABLE}
    if not is_same_json(source, before):
        field = "spec.persistentvolumesource"
        yield forbidden(field, f"{field} is immutable after creation")
    if obj["spec"].get("volumeMode") != live["spec"].get("volumeMode"):
        yield invalid("volumeMode", obj["spec"].get("volumeMode"), IMMUTABLE)
    bound, wanted = live["spec"].get("nodeAffinity"), obj["spec"].get("nodeAffinity")
    if bound and not is_same_json(wanted, bound):
        yield invalid("nodeAffinity", wanted, f"{IMMUTABLE}, except for updating from beta label to GA")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "priorityclasses": _new_priority_class,
    "configmaps": _config_map,
    "secrets": _secret,
    "namespaces": _namespace,
    "persistentvolumeclaims": _claim,
    "poddisruptionbudgets": _budget,
    "roles": _role,
    "clusterroles": _cluster_role,
    "rolebindings": _binding,
    "clusterrolebindings": _binding,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "configmaps": _immutable_data,
    "secrets": _immutable_data,
    "persistentvolumeclaims": validate_claim_update,
    "rolebindings": _binding_update,
    "clusterrolebindings": _binding_update,
    "priorityclasses": _priority_class_update,
    "persistentvolumes": _volume_update,
}
# The rule for a changed object that replaces that for a new one: only its fixed fields are checked.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "namespaces": lambda obj: iter(()),
    "priorityclasses": lambda obj: iter(()),
}
