"""A change to a field that cannot be changed: the server answers 422, only delete and create helps.

Rule: the update validation of each kind in kube-apiserver v1.36 (the page of each kind says "immutable");
custom resources by rules of their CustomResourceDefinition that compare `self` with `oldSelf`. A list whose
live entries only hold more than the manifest's (defaults) counts as equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity, Subject
from applyviz.engine.hazards.walking import field_path, is_within, position_of
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json

# (group, kind): the fields that may never change.
_FIXED: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("apps", "Deployment"): (("spec", "selector"),),
    ("apps", "ReplicaSet"): (("spec", "selector"),),
    ("apps", "DaemonSet"): (("spec", "selector"),),
    ("apps", "ControllerRevision"): (("data",),),
    ("batch", "Job"): (
        ("spec", "selector"),
        ("spec", "completionMode"),
        ("spec", "podFailurePolicy"),
        ("spec", "backoffLimitPerIndex"),
        ("spec", "managedBy"),
        ("spec", "successPolicy"),
    ),
    ("", "Secret"): (("type",),),
    ("", "PersistentVolume"): (("spec", "volumeMode"), ("spec", "csi"), ("spec", "nfs"), ("spec", "hostPath")),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",),
        ("parameters",),
        ("reclaimPolicy",),
        ("volumeBindingMode",),
    ),
    ("storage.k8s.io", "CSIDriver"): (("spec", "attachRequired"), ("spec", "volumeLifecycleModes")),
    ("storage.k8s.io", "VolumeAttributesClass"): (("driverName",), ("parameters",)),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("node.k8s.io", "RuntimeClass"): (("handler",),),
    ("networking.k8s.io", "IngressClass"): (("spec", "controller"),),
    ("discovery.k8s.io", "EndpointSlice"): (("addressType",),),
    ("certificates.k8s.io", "CertificateSigningRequest"): (("spec",),),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        ("spec", "group"),
        ("spec", "scope"),
        ("spec", "names", "kind"),
        ("spec", "names", "plural"),
    ),
}
# (group, kind): everything below this field is fixed but for the fields named.
_FIXED_BUT: dict[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("apps", "StatefulSet"): (
        "spec",
        frozenset(
            (
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            )
        ),
    ),
    ("", "PersistentVolumeClaim"): ("spec", frozenset(("resources", "volumeAttributesClassName"))),
    ("", "Pod"): (
        "spec",
        frozenset(
            (
                "activeDeadlineSeconds",
                "containers",
                "initContainers",
                "schedulingGates",
                "terminationGracePeriodSeconds",
                "tolerations",
            )
        ),
    ),
}
_MISSING: JSONValue = object()


def _differs(live: JSONValue, result: JSONValue) -> bool:
    return not is_same_json(live, result) and not (isinstance(result, list) and is_within(result, live))


def _compare(live: JSONObject, result: JSONObject, where: tuple[str, ...]) -> bool:
    before, now = get_at(live, where, _MISSING), get_at(result, where, _MISSING)
    if before is _MISSING and now is _MISSING:
        return False
    return before is _MISSING or now is _MISSING or _differs(before, now)


def _fixed_but(live: JSONObject, result: JSONObject, key: tuple[str, str]) -> Iterator[tuple[str, ...]]:
    part, free = _FIXED_BUT[key]
    before, now = live.get(part), result.get(part)
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return
    for name in dict.fromkeys((*before, *now)):
        if name not in free and _compare(live, result, (part, name)):
            yield part, name


def _service(live: JSONObject, result: JSONObject) -> Iterator[tuple[str, ...]]:
    types = {get_at(live, ("spec", "type"), "ClusterIP"), get_at(result, ("spec", "type"), "ClusterIP")}
    if "ExternalName" in types:
        return
    before, now = get_at(live, ("spec", "clusterIP")), get_at(result, ("spec", "clusterIP"))
    if before and now and before != now:
        yield "spec", "clusterIP"
    families = [get_at(obj, ("spec", "ipFamilies")) for obj in (live, result)]
    if all(isinstance(f, list) and f for f in families) and families[0][0] != families[1][0]:
        yield "spec", "ipFamilies"
    if len(types) == 1 and _compare(live, result, ("spec", "loadBalancerClass")):
        yield "spec", "loadBalancerClass"


def _sealed(live: JSONObject, result: JSONObject) -> Iterator[tuple[str, ...]]:
    if live.get("immutable") is not True:
        return
    for name in ("data", "binaryData", "immutable"):
        if _compare(live, result, (name,)):
            yield (name,)


def _job(live: JSONObject, result: JSONObject) -> Iterator[tuple[str, ...]]:
    # A suspended Job that never started may still change where its pods run.
    if get_at(live, ("spec", "suspend")) is True and not get_at(live, ("status", "startTime")):
        return
    if _compare(live, result, ("spec", "template")):
        yield "spec", "template"
    is_indexed = get_at(live, ("spec", "completionMode")) == "Indexed"
    if not is_indexed and _compare(live, result, ("spec", "completions")):
        yield "spec", "completions"


def _changes(subject: Subject, live: JSONObject, result: JSONObject) -> Iterator[PlainPath]:
    key = (subject.ref.gvk.group, subject.ref.gvk.kind)
    yield from (where for where in _FIXED.get(key, ()) if _compare(live, result, where))
    if key in _FIXED_BUT:
        yield from _fixed_but(live, result, key)
    if key == ("", "Service"):
        yield from _service(live, result)
    elif key in (("", "ConfigMap"), ("", "Secret")):
        yield from _sealed(live, result)
    elif key == ("batch", "Job"):
        yield from _job(live, result)


def _fixed_by_rules(schema: JSONValue, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(schema, Mapping):
        return
    rules = schema.get("x-kubernetes-validations")
    for rule in rules if isinstance(rules, list) else ():
        text = "".join(str(rule.get("rule", "")).split()) if isinstance(rule, Mapping) else ""
        if text in ("self==oldSelf", "oldSelf==self"):
            yield path
    properties = schema.get("properties")
    for name, below in properties.items() if isinstance(properties, Mapping) else ():
        yield from _fixed_by_rules(below, (*path, name))


def find_definition(subject: Subject, gvk: GroupVersionKind) -> JSONObject | None:
    """The CustomResourceDefinition of a kind among the neighbours."""
    if "." not in gvk.group:
        return None
    for obj in subject.neighbours.of_kind("CustomResourceDefinition"):
        spec = obj.get("spec") or {}
        if spec.get("group") == gvk.group and get_at(spec, ("names", "kind")) == gvk.kind:
            return obj
    return None


def _custom(subject: Subject, live: JSONObject, result: JSONObject) -> Iterator[PlainPath]:
    crd = find_definition(subject, subject.ref.gvk)
    for version in get_at(crd, ("spec", "versions")) or () if crd is not None else ():
        if version.get("name") != subject.ref.gvk.version:
            continue
        for where in _fixed_by_rules(get_at(version, ("schema", "openAPIV3Schema"))):
            if get_at(live, where, _MISSING) is not _MISSING and _compare(live, result, where):
                yield where


def find(subject: Subject) -> Iterator[Hazard]:
    """Immutable fields whose value would change."""
    live, result = subject.live, subject.merged or subject.after
    if live is None or result is None or subject.manifest is None:
        return
    for where in dict.fromkeys((*_changes(subject, live, result), *_custom(subject, live, result))):
        facts = {"field": ".".join(str(step) for step in where), "kind": subject.ref.gvk.kind}
        position = position_of(subject, where)
        yield Hazard(HazardKind.IMMUTABLE_FIELD, Severity.DANGER, field_path(where), facts, position)
