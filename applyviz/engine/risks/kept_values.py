"""Tables of the fields that the server refuses to change, by built-in kind.

Rule: the update validation of kube-apiserver v1.36.3, tested field by field: `tests/controlplane/fixed_fields.py`
records its answers, `tests/cases/risks/fixed-fields.json` contains them. Rules that depend on more than the field
itself are in `immutable`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.values import JSONValue

Kind: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, ...]

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
