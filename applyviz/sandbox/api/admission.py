"""Apply the default admission plugins to an object.

Rule: the plugins that a kube-apiserver v1.36.3 runs by default (DefaultTolerationSeconds, Priority, …). No webhooks,
no quotas, no limit ranges, no Pod security; a Pod is never scheduled.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from decimal import Decimal

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.kubernetes.parity.certificate_requests import list_organizations
from applyviz.kubernetes.parity.status import FieldError, forbidden_request, invalid
from applyviz.kubernetes.v1_36.validation.certificates import REQUESTS
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.store import Store

_SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NOT_READY = ("node.kubernetes.io/not-ready", "NoSchedule")
FIXED_SIZE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)
_NO_NAME = "Unknown"
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
OWN_PRIORITY = "must not be provided in pod spec; priority admission controller computed"
CLASS_PRIORITY: Mapping[str, str] = {"priority": "value", "preemptionPolicy": "preemptionPolicy"}
"""Fields of a Pod that its PriorityClass sets, with their names in the class."""
_DEFAULT_PREEMPTION = "PreemptLowerPriority"
_LEVELS = ("privileged", "baseline", "restricted")
_LEVEL_VERSION = re.compile(r"v1\.(?:[0-9]|[1-9][0-9]*)")
# What a Pod says of itself while gates keep it from the scheduler.
_GATED: Mapping[str, JSONValue] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def admit_create(target: ResourceTarget, obj: MutableObject, store: Store) -> None:
    """Add what admission adds to a new object, in place.

    - Raises `StatusError` (403) for a priority class that does not exist, and for a priority or a preemption policy
      that is not that of the class.
    """
    if target.struct is None:
        return
    if target.struct.name == "core/v1.Pod":
        _admit_pod(obj, store)
    elif target.plural == "persistentvolumeclaims":
        _admit_claim(obj, store)
    elif target.plural == "ingresses":
        _admit_ingress(obj, store)
    elif target.struct.name == "core/v1.Node":
        _taint_node(obj)


def admit_update(target: ResourceTarget, obj: MutableObject, live: JSONObject) -> None:
    """Add what admission adds to a changed object, in place."""
    if target.struct is not None and target.struct.name == "core/v1.Pod":
        _tolerate_unreachable(obj["spec"])
        for name in ("priority", "preemptionPolicy"):
            if obj["spec"].get(name) is None and live["spec"].get(name) is not None:
                obj["spec"][name] = live["spec"][name]


def refuse_subject(target: ResourceTarget, obj: JSONObject) -> None:
    """Refuse a new request for a certificate of a client of the server that would be an administrator.

    - Raises `StatusError` (403).
    """
    if target.struct is None or target.plural != REQUESTS or obj["spec"].get("signerName") != _CLIENT_SIGNER:
        return
    if "system:masters" in list_organizations(b64decode(obj["spec"]["request"])):
        detail = f"use of {_CLIENT_SIGNER} signer with system:masters group is not allowed"
        raise forbidden_request(target.group, target.plural, obj["metadata"]["name"], detail)


def check_levels(target: ResourceTarget, obj: JSONObject, live: JSONObject | None) -> Iterator[FieldError]:
    """Yield the labels of a Namespace that name no level of Pod security, unless live has the same ones."""
    if target.struct is None or target.struct.name != "core/v1.Namespace":
        return
    problems = list(_check_labels(obj))
    if live is None or problems != list(_check_labels(live)):
        yield from problems


def _check_labels(obj: JSONObject) -> Iterator[FieldError]:
    labels = obj["metadata"].get("labels") or {}
    for mode in ("enforce", "audit", "warn"):
        name = f"pod-security.kubernetes.io/{mode}"
        level, version = labels.get(name), labels.get(f"{name}-version")
        if level is not None and level not in _LEVELS:
            yield invalid(f"metadata.labels[{name}]", level, f"must be one of {', '.join(_LEVELS)}")
        if version not in (None, "latest") and not _LEVEL_VERSION.fullmatch(version):
            yield invalid(f"metadata.labels[{name}-version]", version, 'must be "latest" or "v1.x"')


def _tolerate_unreachable(spec: MutableObject) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in _UNREACHABLE:
        if not any(t.get("key") in (key, None) and t.get("effect", "NoExecute") == "NoExecute" for t in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _admit_pod(obj: MutableObject, store: Store) -> None:
    spec = obj["spec"]
    _tolerate_unreachable(spec)
    _set_priority(obj, spec, store)
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        obj["status"]["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}]


def list_system_classes() -> frozenset[str]:
    """Return the names of the priority classes that every cluster has."""
    return frozenset(_SYSTEM_PRIORITIES)


def _set_priority(obj: MutableObject, spec: MutableObject, store: Store) -> None:
    name, value, policy = spec.get("priorityClassName") or "", 0, _DEFAULT_PREEMPTION
    classes = store.list("scheduling.k8s.io", "priorityclasses")
    if not name:
        chosen = next((c for c in classes if c.get("globalDefault")), None)
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    else:
        chosen = next((c for c in classes if c["metadata"]["name"] == name), None)
        if chosen is None and name not in _SYSTEM_PRIORITIES:
            detail = f"no PriorityClass with name {name} was found"
            raise forbidden_request("", "pods", obj["metadata"].get("name") or _NO_NAME, detail)
        value = _SYSTEM_PRIORITIES.get(name, 0)
    if chosen is not None:
        value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy") or policy
    computed = (("priority", "the integer value of priority", value),)
    for field, words, wanted in (*computed, ("preemptionPolicy", "the string value of PreemptionPolicy", policy)):
        asked = spec.get(field)
        if asked is not None and asked != wanted:
            detail = f"{words} ({asked}) {OWN_PRIORITY} {wanted} from the given PriorityClass name"
            raise forbidden_request("", "pods", obj["metadata"].get("name") or _NO_NAME, detail)
    spec["priority"], spec["preemptionPolicy"] = value, policy


def _is_positive(text: JSONValue) -> bool:
    parsed = parse_quantity(str(text))
    return parsed is not None and parsed[0] > 0


def qos_class(spec: JSONObject) -> str:
    """Return Guaranteed, Burstable or BestEffort, from the containers' cpu and memory."""
    named, is_guaranteed = False, True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        requests = {k: v for k, v in (resources.get("requests") or {}).items() if k in ("cpu", "memory")}
        limits = {k: v for k, v in (resources.get("limits") or {}).items() if k in ("cpu", "memory")}
        named = named or any(_is_positive(v) for v in (*requests.values(), *limits.values()))
        if set(limits) != {"cpu", "memory"} or any(requests.get(k, v) != v for k, v in limits.items()):
            is_guaranteed = False
    if not named:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


def _find_default(store: Store, group: str, plural: str, annotation: str) -> str | None:
    for item in store.list(group, plural):
        if (item["metadata"].get("annotations") or {}).get(annotation) == "true":
            name: str = item["metadata"]["name"]
            return name
    return None


def _admit_claim(obj: MutableObject, store: Store) -> None:
    if obj["spec"].get("storageClassName") is None:
        name = _find_default(store, "storage.k8s.io", "storageclasses", "storageclass.kubernetes.io/is-default-class")
        if name is not None:
            obj["spec"]["storageClassName"] = name


def _taint_node(obj: MutableObject) -> None:
    """Keep pods from a new node until its kubelet says that it is ready."""
    taints = obj.setdefault("spec", {}).setdefault("taints", [])
    if not any((taint.get("key"), taint.get("effect")) == _NOT_READY for taint in taints):
        taints.append(dict(zip(("key", "effect"), _NOT_READY, strict=True)))


def refuse_growth(target: ResourceTarget, obj: JSONObject, live: JSONObject, store: Store) -> None:
    """Raise `StatusError` (403) where a bound claim grows and its class does not let it.

    - A class that this store does not hold may allow it: an estimate knows one object alone.
    """
    if target.struct is None or target.struct.name != "core/v1.PersistentVolumeClaim":
        return
    now, before = (_read_size(one) for one in (obj, live))
    name = obj["spec"].get("storageClassName") or ""
    chosen = (c for c in store.list("storage.k8s.io", "storageclasses") if c["metadata"]["name"] == name)
    is_open = bool(name) and all(c.get("allowVolumeExpansion") is True for c in chosen)
    if now is not None and before is not None and now > before and not is_open:
        raise forbidden_request("", target.plural, obj["metadata"].get("name", ""), FIXED_SIZE)


def _read_size(claim: JSONObject) -> Decimal | None:
    asked = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    parsed = parse_quantity(str(asked)) if asked is not None else None
    return None if parsed is None else Decimal(parsed[0])


def _admit_ingress(obj: MutableObject, store: Store) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    if obj["spec"].get("ingressClassName") is None and "kubernetes.io/ingress.class" not in annotations:
        name = _find_default(
            store, "networking.k8s.io", "ingressclasses", "ingressclass.kubernetes.io/is-default-class"
        )
        if name is not None:
            obj["spec"]["ingressClassName"] = name
