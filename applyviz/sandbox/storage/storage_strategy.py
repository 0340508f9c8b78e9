"""Prepare an object for storage: status, generation, fields that only the server sets.

Rule: `PrepareForCreate` and `PrepareForUpdate` of the strategies in k8s.io/kubernetes `pkg/registry`. Field ownership
was computed before, so the writer does not own anything that is set here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.kubernetes.parity.equality import find_below, find_topology, is_equal
from applyviz.kubernetes.parity.go_texts import read_quantity
from applyviz.kubernetes.parity.go_types import Code, GoStruct, go_types, zero_of
from applyviz.kubernetes.v1_36.defaults import apply_defaults
from applyviz.kubernetes.v1_36.gates import drop_disabled
from applyviz.kubernetes.v1_36.validation.certificates import REQUESTS
from applyviz.sandbox.storage.bodies import TEMPLATE_GENERATION
from applyviz.sandbox.storage.certificate_requests import APPROVAL, prepare_request
from applyviz.sandbox.storage.resources import CRD_PLURAL, ResourceTarget

_WITHOUT_GENERATION = frozenset(
    {
        "configmaps", "secrets", "services", "serviceaccounts", "endpoints", "events", "namespaces", "nodes",
        "limitranges", "resourcequotas", "persistentvolumes", "persistentvolumeclaims", "componentstatuses",
        "horizontalpodautoscalers", "roles", "rolebindings", "clusterroles", "clusterrolebindings", "leases",
        "storageclasses", "csinodes", "csistoragecapacities", "volumeattachments", "runtimeclasses",
        "certificatesigningrequests", "controllerrevisions", "servicecidrs", "ipaddresses", "resourceclaims",
        "resourceclaimtemplates", "volumeattributesclasses", "apiservices",
    }
)  # fmt: skip
# Their generation starts at 1 and never increases.
_FIRST_GENERATION = frozenset({"priorityclasses"})
# They get a generation with their first change.
_CHANGED_GENERATION = frozenset({"csidrivers"})
# Their strategy compares with `reflect.DeepEqual`: empty is not absent, so each write of an empty list counts.
_COUNTS_EMPTY = frozenset({"networkpolicies", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"})
# Their rules compare these with `reflect.DeepEqual`, or quote them: an empty value is not an absent one. The defaults
# of a ConfigMap make its `data` empty in both objects.
_RULED_EMPTY = {
    **dict.fromkeys(
        ("daemonsets", "deployments", "replicasets", "replicationcontrollers", "statefulsets"),
        (("spec", "template", "metadata", "labels"),),
    ),
    "jobs": (
        ("spec", "template", "metadata", "labels"),
        ("spec", "template", "spec", "containers"),
        ("spec", "podFailurePolicy", "rules"),
        ("spec", "podFailurePolicy", "rules", "onExitCodes", "values"),
        ("spec", "successPolicy", "rules"),
    ),
    "configmaps": (("binaryData",),),
    "persistentvolumeclaims": (("spec", "resources", "limits"), ("spec", "resources", "requests")),
    "secrets": (("data",),),
    "servicecidrs": (("spec", "cidrs"),),
    "storageclasses": (("parameters",),),
}
NAMED_BY_SERVER = frozenset({"limitranges"})
"""Kinds whose strategy names an object that has neither a name nor a prefix of one."""
# What a write of their status keeps of their metadata.
_OF_MAIN_RESOURCE = {
    "deployments": ("labels",),
    "apiservices": ("labels", "annotations", "finalizers", "ownerReferences"),
}
_STATUS_FROM_CLIENT = frozenset({"nodes"})


def has_generation(target: ResourceTarget) -> bool:
    """Return whether objects of the resource have a generation."""
    return target.struct is None or target.plural not in _WITHOUT_GENERATION


def _reset_status(target: ResourceTarget, obj: MutableObject) -> None:
    if target.struct is None:
        obj.pop("status", None)
        return
    field = target.struct.fields.get("status")
    if field is not None and target.plural not in _STATUS_FROM_CLIENT:
        obj["status"] = zero_of(field.code)


def prepare_create(target: ResourceTarget, obj: MutableObject) -> None:
    """Convert a new object to its stored form; `metadata.uid` is already set."""
    if target.has_status and target.plural != CRD_PLURAL:
        _reset_status(target, obj)
    if has_generation(target) and target.plural not in _CHANGED_GENERATION:
        obj["metadata"]["generation"] = 1
    if target.struct is not None:
        drop_disabled(target.plural, obj)
    rule = _CREATE.get(target.plural) if target.struct is not None else None
    if rule is not None:
        rule(obj)
    if target.struct is not None:
        apply_defaults(obj, target.struct)
        _store_as_protobuf(target, obj)


def keep_empty(target: ResourceTarget, obj: JSONObject, written: JSONObject) -> JSONObject:
    """Return the object as the rules of its kind see it: with the empty values that are written but not stored."""
    for path in _RULED_EMPTY.get(target.plural, ()) if target.struct is not None else ():
        obj = _keep_empty(obj, written, path)
    return obj


def _keep_empty(value: JSONObject, written: JSONObject, path: Sequence[str]) -> JSONObject:
    """Return the value with what is written empty at a path, which leads through each entry of a list."""
    name, *rest = path
    item, other = value.get(name), written.get(name)
    if not rest:
        return {**value, name: other} if other in ([], {}) and not item else value
    if isinstance(item, list) and isinstance(other, list) and len(item) == len(other):
        return {**value, name: [_keep_entry(*pair, rest) for pair in zip(item, other, strict=True)]}
    return {**value, name: _keep_entry(item, other, rest)} if name in value else value


def _keep_entry(value: JSONValue, written: JSONValue, path: Sequence[str]) -> JSONValue:
    if isinstance(value, Mapping) and isinstance(written, Mapping):
        return _keep_empty(value, written, path)
    return value


def _has_empty(written: JSONObject) -> bool:
    """Return whether spec or webhooks of an object hold an empty list or map of labels, which decoding leaves out."""
    return _holds_empty(written.get("spec")) or _holds_empty(written.get("webhooks"))


def _holds_empty(value: JSONValue) -> bool:
    if isinstance(value, list):
        return not value or any(map(_holds_empty, value))
    if isinstance(value, Mapping):
        return value.get("matchLabels") == {} or any(map(_holds_empty, value.values()))
    return False


def prepare_update(
    target: ResourceTarget, obj: MutableObject, live: JSONObject, subresource: str, *, written: JSONObject, now: str
) -> None:
    """Revert what this kind of write may not change, and increase the generation.

    - `written`: the object before decoding; `now`: RFC 3339 in UTC.
    """
    if subresource == "status":
        _keep_all_but_status(target, obj, live)
    elif target.has_status and subresource != APPROVAL:
        _restore(obj, live, "status")
    if target.struct is not None and target.plural == REQUESTS:
        prepare_request(obj, live, subresource, now)
    if target.struct is not None:
        drop_disabled(target.plural, obj, live)
    if target.struct is not None and (rule := _UPDATE.get(target.plural)) is not None:
        rule(obj, live)
    if target.struct is not None:
        _store_as_protobuf(target, obj)
    if subresource != "status":
        _count_generation(target, obj, live)
        if target.plural in _COUNTS_EMPTY and _has_empty(written):
            obj["metadata"]["generation"] = live["metadata"].get("generation", 1) + 1


def _store_as_protobuf(target: ResourceTarget, obj: MutableObject) -> None:
    """Convert values as protobuf stores them: an empty list becomes null, a quantity becomes canonical."""
    if target.struct is not None and target.plural != CRD_PLURAL:
        _store_struct(obj, target.struct)


def _store_struct(value: MutableObject, struct: GoStruct) -> None:
    for name, item in value.items():
        field = struct.fields.get(name)
        if field is None:
            continue
        if isinstance(item, str) and field.code in ("Q", ["*", "Q"]):
            value[name] = read_quantity(item)
            continue
        if isinstance(item, dict) and field.code[1:2] == ["Q"]:
            value[name] = {key: read_quantity(text) if isinstance(text, str) else text for key, text in item.items()}
            continue
        if item == [] and isinstance(field.code, list) and field.code[0] == "[" and not field.drops_empty:
            value[name] = None
            continue
        inner = field.code
        while isinstance(inner, list):
            inner = inner[1]
        below = go_types().find_struct(inner) if item else None
        if below is not None:
            _store_below(item, field.code, below)


def _store_below(value: JSONValue, code: Code, struct: GoStruct) -> None:
    """Visit the structs behind pointers, in lists and in maps."""
    mark = code[0] if isinstance(code, list) else ""
    if mark == "*":
        _store_below(value, code[1], struct)
    elif isinstance(value, list) and mark == "[":
        for item in value:
            _store_below(item, code[1], struct)
    elif isinstance(value, dict) and not mark:
        _store_struct(value, struct)
    elif isinstance(value, dict):
        for item in value.values():
            _store_below(item, code[1], struct)


def _restore(obj: MutableObject, live: JSONObject, name: str) -> None:
    if name in live:
        obj[name] = clone(live[name])
    else:
        obj.pop(name, None)


def _keep_all_but_status(target: ResourceTarget, obj: MutableObject, live: JSONObject) -> None:
    for name in {*obj, *live} - {"status", "metadata", "apiVersion", "kind"}:
        _restore(obj, live, name)
    if target.struct is None:
        managed = obj["metadata"].get("managedFields")
        obj["metadata"] = clone(live["metadata"])
        if managed is not None:
            obj["metadata"]["managedFields"] = managed
    for name in _OF_MAIN_RESOURCE.get(target.plural, ()) if target.struct is not None else ():
        _restore(obj["metadata"], live["metadata"], name)


def _count_generation(target: ResourceTarget, obj: MutableObject, live: JSONObject) -> None:
    if not has_generation(target):
        return
    meta, before = obj["metadata"], live["metadata"]
    if target.struct is None:
        is_changed = _has_other_content(obj, live)
    else:
        counted = {*obj, *live} - {"metadata", "status", "apiVersion", "kind"}
        at = find_topology(target.gvk.api_version, target.gvk.kind)
        is_changed = any(not is_equal(obj.get(name), live.get(name), find_below(at, name)) for name in counted)
    if target.plural == "deployments" and meta.get("annotations") != before.get("annotations"):
        is_changed = True
    if target.plural == "endpointslices" and meta.get("labels") != before.get("labels"):
        is_changed = True
    if target.plural in _CHANGED_GENERATION and not is_changed and "generation" not in before:
        return
    first = 0 if target.plural in _CHANGED_GENERATION else 1
    meta["generation"] = before.get("generation", first) + (is_changed and target.plural not in _FIRST_GENERATION)


def _has_other_content(obj: JSONObject, live: JSONObject) -> bool:
    """Return whether a custom resource changed outside of metadata; to Go, 1 and 1.0 are different there."""

    def write(value: JSONObject) -> str:
        return json.dumps({k: v for k, v in value.items() if k != "metadata"}, sort_keys=True)

    return write(obj) != write(live)


def _create_namespace(obj: MutableObject) -> None:
    finalizers = obj["spec"].get("finalizers") or []
    obj["spec"]["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")


def _update_namespace(obj: MutableObject, live: JSONObject) -> None:
    obj["spec"]["finalizers"] = clone(live.get("spec", {}).get("finalizers") or [])
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]


def _create_daemon_set(obj: MutableObject) -> None:
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = "1"


def _update_daemon_set(obj: MutableObject, live: JSONObject) -> None:
    count = int(live["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "1"))
    at = find_topology("apps/v1", "DaemonSet", "spec", "template")
    is_changed = not is_equal(obj["spec"]["template"], live["spec"]["template"], at)
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(count + is_changed)


def _create_job(obj: MutableObject) -> None:
    spec, uid, name = obj["spec"], obj["metadata"]["uid"], obj["metadata"].get("name", "")
    if spec.get("manualSelector"):
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key, value in (("controller-uid", uid), ("job-name", name)):
        labels.setdefault(key, value)  # a user's own value is refused later
        labels.setdefault(f"batch.kubernetes.io/{key}", value)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {})["batch.kubernetes.io/controller-uid"] = uid


def _add_finalizer(name: str) -> Callable[[MutableObject], None]:
    def add(obj: MutableObject) -> None:
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if name not in finalizers:
            finalizers.append(name)

    return add


def _create_definition(obj: MutableObject) -> None:
    stored = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")]
    obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def _update_definition(obj: MutableObject, live: JSONObject) -> None:
    kept = get_at(live, ("status", "storedVersions")) or []
    stored = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage") and v["name"] not in kept]
    if stored:
        obj["status"] = {**(obj.get("status") or {}), "storedVersions": [*kept, *stored[:1]]}


def _update_secret(obj: MutableObject, live: JSONObject) -> None:
    if not obj.get("type"):
        obj["type"] = live.get("type", "Opaque")


def _create_claim(obj: MutableObject) -> None:
    _add_finalizer("kubernetes.io/pvc-protection")(obj)
    _normalize_sources(obj["spec"], None)


def _update_claim(obj: MutableObject, live: JSONObject) -> None:
    _normalize_sources(obj["spec"], live["spec"])


def _normalize_sources(spec: MutableObject, before: JSONObject | None) -> None:
    """Drop a source of another kind than the old field knows, and fill in each of the two fields from the other."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    is_used = before is not None and before.get("dataSource") is not None
    if source is not None and reference is None and not is_used:
        known = (source.get("kind"), source.get("apiGroup") or "")
        if known not in (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io")):
            source = spec.pop("dataSource") and None
    if source is not None and reference is None:
        spec["dataSourceRef"] = {"apiGroup": source.get("apiGroup"), **clone(source)}
        source.setdefault("apiGroup", None)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {"apiGroup": None, **clone({k: v for k, v in reference.items() if k != "namespace"})}


def _create_volume(obj: MutableObject) -> None:
    _add_finalizer("kubernetes.io/pv-protection")(obj)
    obj["status"] = {**(obj.get("status") or {}), "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}


def _create_api_service(obj: MutableObject) -> None:
    """Call an APIService that no Service answers for available: the server itself answers for it."""
    if obj["spec"].get("service") is None:
        words = {"reason": "Local", "message": "Local APIServices are always available"}
        moment = {"lastTransitionTime": obj["metadata"]["creationTimestamp"]}
        obj["status"] = {"conditions": [{"type": "Available", "status": "True", **moment, **words}]}


def _keep_names(obj: MutableObject, _live: JSONObject | None = None) -> None:
    """Keep of the Secrets of a ServiceAccount only their names."""
    if obj.get("secrets"):
        obj["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in obj["secrets"]]


_CREATE: Mapping[str, Callable[[MutableObject], None]] = {
    "namespaces": _create_namespace,
    "apiservices": _create_api_service,
    "daemonsets": _create_daemon_set,
    "jobs": _create_job,
    "persistentvolumeclaims": _create_claim,
    "serviceaccounts": _keep_names,
    "persistentvolumes": _create_volume,
    "volumeattributesclasses": _add_finalizer("kubernetes.io/vac-protection"),
    CRD_PLURAL: _create_definition,
}
_UPDATE: Mapping[str, Callable[[MutableObject, JSONObject], None]] = {
    "namespaces": _update_namespace,
    "daemonsets": _update_daemon_set,
    "secrets": _update_secret,
    CRD_PLURAL: _update_definition,
    "persistentvolumeclaims": _update_claim,
    "serviceaccounts": _keep_names,
}
