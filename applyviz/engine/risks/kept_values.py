"""Tables of the fields that the server refuses to change, by built-in kind.

Rule: the update validation of kube-apiserver v1.36.3, tested field by field: `tests/controlplane/fixed_fields.py`
records its answers, `tests/cases/risks/fixed-fields.json` contains them. Rules that depend on more than the field
itself are in `immutable`. Of a Pod the server names no field: those of its containers are found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import FieldPath, PathElement, field, key
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json

Kind: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, ...]

# What a server leaves out of an entry of a list.
UNSET: Final[tuple[JSONValue, ...]] = (None, "", [])

# The fields that may never change.
FIXED: Final[dict[Kind, tuple[Place, ...]]] = {
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
    ("", "PersistentVolume"): (
        *(("spec", name) for name in ("volumeMode", "csi", "nfs", "hostPath", "local", "iscsi", "fc")),
    ),
    ("", "ResourceQuota"): (("spec", "scopes"),),
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
    ("storage.k8s.io", "CSIStorageCapacity"): (("storageClassName",), ("nodeTopology",)),
    ("storage.k8s.io", "VolumeAttachment"): (("spec",),),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("node.k8s.io", "RuntimeClass"): (("handler",),),
    ("networking.k8s.io", "IngressClass"): (("spec", "controller"),),
    ("networking.k8s.io", "IPAddress"): (("spec", "parentRef"),),
    ("discovery.k8s.io", "EndpointSlice"): (("addressType",),),
    ("resource.k8s.io", "ResourceClaim"): (("spec",),),
    ("resource.k8s.io", "ResourceClaimTemplate"): (("spec",),),
    ("resource.k8s.io", "ResourceSlice"): (
        *(("spec", name) for name in ("driver", "nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")),
        ("spec", "pool", "name"),
    ),
    CRD: (
        ("spec", "group"),
        ("spec", "scope"),
        ("spec", "names", "kind"),
        ("spec", "names", "plural"),
    ),
}
# The fields of these that get a default where a write leaves them out.
DEFAULTS: Final[dict[Kind, dict[Place, JSONValue]]] = {
    ("", "Pod"): {
        ("spec", "dnsPolicy"): "ClusterFirst",
        ("spec", "enableServiceLinks"): True,
        ("spec", "preemptionPolicy"): "PreemptLowerPriority",
        ("spec", "restartPolicy"): "Always",
        ("spec", "schedulerName"): "default-scheduler",
        ("spec", "securityContext"): {},
        ("spec", "terminationGracePeriodSeconds"): 30,
    },
    ("", "Secret"): {("type",): "Opaque"},
    ("", "PersistentVolumeClaim"): {("spec", "volumeMode"): "Filesystem"},
    ("", "PersistentVolume"): {("spec", "volumeMode"): "Filesystem"},
    ("apps", "StatefulSet"): {("spec", "podManagementPolicy"): "OrderedReady"},
    ("batch", "Job"): {("spec", "completionMode"): "NonIndexed"},
    ("storage.k8s.io", "StorageClass"): {("reclaimPolicy",): "Delete", ("volumeBindingMode",): "Immediate"},
    ("storage.k8s.io", "CSIDriver"): {
        ("spec", "attachRequired"): True,
        ("spec", "volumeLifecycleModes"): ["Persistent"],
    },
    ("scheduling.k8s.io", "PriorityClass"): {("preemptionPolicy",): "PreemptLowerPriority"},
}
# The fields that may be set once and never change afterwards.
FIXED_ONCE_SET: Final[dict[Kind, tuple[Place, ...]]] = {
    ("", "Node"): (("spec", "podCIDR"), ("spec", "podCIDRs"), ("spec", "providerID")),
    ("", "PersistentVolume"): (("spec", "nodeAffinity"),),
    ("", "PersistentVolumeClaim"): (("spec", "volumeName"), ("spec", "storageClassName")),
}
# Everything below this field ("" for the whole object) is immutable except for the named fields.
FIXED_BUT: Final[dict[Kind, tuple[str, frozenset[str]]]] = {
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
    ("", "PersistentVolumeClaim"): (
        "spec",
        frozenset(("resources", "volumeAttributesClassName", "volumeName", "storageClassName")),
    ),
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
    ("events.k8s.io", "Event"): ("", frozenset(("apiVersion", "kind", "metadata", "series"))),
}


def list_container_fields(wanted: JSONValue, live: JSONValue, result: JSONValue, where: PlainPath) -> list[PlainPath]:
    """Return the fields at or below a list of containers that differ, as the manifest counts its entries.

    - Rule: the server compares the whole spec of a Pod, of which only images may change, and names no field.
    - The list itself, if entries come, go or have no name.
    """
    found = list(_find_different(wanted, live, result, where))
    return [one for one in found if one[-1] != "image" or len(one) != len(where) + 2] or [where]


def _find_different(wanted: JSONValue, live: JSONValue, result: JSONValue, where: PlainPath) -> Iterator[PlainPath]:
    if _is_same(live, result):
        return
    if isinstance(live, Mapping) and isinstance(result, Mapping):
        for name in dict.fromkeys((*live, *result)):
            asked = wanted.get(name) if isinstance(wanted, Mapping) else None
            yield from _find_different(asked, live.get(name, ABSENT), result.get(name, ABSENT), (*where, name))
        return
    before, now, entries = _index(live), _index(result), _index(wanted)
    if not entries or before.keys() != now.keys() or not entries.keys() <= now.keys():
        yield where
        return
    for index, (name, entry) in enumerate(entries.items()):
        yield from _find_different(entry, before[name], now[name], (*where, index))


def _is_same(live: JSONValue, result: JSONValue) -> bool:
    """Return whether two values are equal; a server stores no empty ones."""
    before, now = (None if value is ABSENT or value in UNSET else value for value in (live, result))
    return is_same_json(before, now)


def _index(entries: JSONValue) -> dict[str, Mapping[str, JSONValue]]:
    """Return the entries of a list by name; none if one has no name, or two have the same."""
    named = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    found = {name: entry for entry in named if isinstance(name := entry.get("name"), str)}
    return found if isinstance(entries, list) and len(found) == len(entries) else {}


def name_containers(manifest: JSONObject | None, plain: PlainPath) -> FieldPath:
    """Return a path of `list_container_fields` with the names of the entries in place of their numbers."""
    path: list[PathElement] = []
    value: JSONValue = manifest
    for step in plain:
        if isinstance(step, int) and isinstance(value, list):
            value = value[step]
            path.append(key({"name": get_at(value, ("name",))}))
        else:
            value = get_at(value, (str(step),))
            path.append(field(str(step)))
    return tuple(path)
