"""Fill in the server's defaults for the built-in kinds.

Rule: the `SetDefaults_*` functions of k8s.io/kubernetes v1.36.3 (`pkg/apis/*/v1/defaults.go`). They belong to Go types,
so one table by type serves every kind that contains the type; parents come before children. Defaulting works on the
decoded form: an absent field and an empty one are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from applyviz.engine.objects.quantities import round_up_to_milli
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.kubernetes.parity.go_types import Code, GoStruct, go_types
from applyviz.kubernetes.v1_36.default_rules import RULES

_ANY_LABEL: JSONObject = {"namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: JSONObject = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", **_ANY_LABEL, "timeoutSeconds": 10}
_PROJECTED_MODE = {"defaultMode": 420}
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_AZURE_DISK: JSONObject = {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}

# Constants: filled when the field is absent or empty.
CONSTANTS: Mapping[str, Mapping[str, JSONValue]] = {
    "core/v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    "core/v1.Pod": {},
    "core/v1.Container": {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    "core/v1.EphemeralContainer": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "core/v1.ContainerPort": {"protocol": "TCP"},
    "core/v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core/v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core/v1.GRPCAction": {"service": ""},
    "core/v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core/v1.FileKeySelector": {"optional": False},
    "core/v1.SecretVolumeSource": _PROJECTED_MODE,
    "core/v1.ConfigMapVolumeSource": _PROJECTED_MODE,
    "core/v1.DownwardAPIVolumeSource": _PROJECTED_MODE,
    "core/v1.ProjectedVolumeSource": _PROJECTED_MODE,
    "core/v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core/v1.HostPathVolumeSource": {"type": ""},
    "core/v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "core/v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "core/v1.RBDVolumeSource": _RBD,
    "core/v1.RBDPersistentVolumeSource": _RBD,
    "core/v1.ScaleIOVolumeSource": _SCALE_IO,
    "core/v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "core/v1.AzureDiskVolumeSource": _AZURE_DISK,
    "core/v1.Secret": {"type": "Opaque"},
    "core/v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "core/v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core/v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core/v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core/v1.NamespaceStatus": {"phase": "Active"},
    "core/v1.EndpointPort": {"protocol": "TCP"},
    "apiregistration/v1.ServiceReference": {"port": 443},
    "core/v1.ReplicationControllerSpec": {"replicas": 1},
    "apps/v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps/v1.StatefulSetSpec": {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10},
    "apps/v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps/v1.ReplicaSetSpec": {"replicas": 1},
    "batch/v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "autoscaling/v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling/v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "rbac/v1.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "networking/v1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking/v1.IngressClassParametersReference": {"scope": "Cluster"},
    "storage/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "storage/v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "discovery/v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "admissionregistration/v1.ValidatingWebhook": _WEBHOOK,
    "admissionregistration/v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration/v1.Rule": {"scope": "*"},
    "admissionregistration/v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.ServiceReference": {"port": 443},
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1.MatchResources": {"matchPolicy": "Equivalent", **_ANY_LABEL},
    "apiextensions/v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions/v1.ServiceReference": {"port": 443},
    "flowcontrol/v1.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol/v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol/v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    "flowcontrol/v1.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
}
# Fields without a pointer, whose Go zero is written: the zero counts as absent.
_ZERO_COUNTS_AS_ABSENT = frozenset(
    {"rbac/v1.RoleRef", "flowcontrol/v1.FlowSchemaSpec", "flowcontrol/v1.QueuingConfiguration"}
)
# The one holder of amounts whose group has no defaults.
_OVERHEAD = "node/v1.Overhead"


def apply_defaults(obj: MutableObject, struct: GoStruct) -> MutableObject:
    """Fill in a decoded object in place and return it."""
    _visit_struct(obj, struct)
    return obj


def _visit_struct(value: MutableObject, struct: GoStruct) -> None:
    rule = RULES.get(struct.name)
    if rule is not None:
        rule(value)
    for name, constant in CONSTANTS.get(struct.name, {}).items():
        current = value.get(name)
        if current is None or (not current and struct.name in _ZERO_COUNTS_AS_ABSENT):
            value[name] = clone(constant)
    for name in list(value) if struct.name != _OVERHEAD else ():
        field = struct.fields.get(name)
        if field is not None:
            _visit(value[name], field.code)


def _visit(value: Any, code: Code) -> None:
    if value is None:
        return
    if isinstance(code, str):
        struct = go_types().find_struct(code) if isinstance(value, dict) else None
        if struct is not None:
            _visit_struct(value, struct)
        return
    mark, inner = code[0], code[1]
    if mark == "*":
        _visit(value, inner)
    elif mark == "[":
        for item in value:
            _visit(item, inner)
    elif inner == "Q":
        value.update({name: round_up_to_milli(amount) for name, amount in value.items()})
    elif inner != "s":
        for item in value.values():
            _visit(item, inner)
