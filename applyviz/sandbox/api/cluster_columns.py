"""The columns of built-in kinds other than workloads: network, configuration, access, storage, admission.

Rule: k8s.io/kubernetes `pkg/printers/internalversion/printers.go`; of APIServices, their own table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from applyviz.engine.objects.quantities import canonical_quantity
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.v1_36.validation.claim_updates import CLASS_ANNOTATION
from applyviz.sandbox.api.ages import render_age
from applyviz.sandbox.api.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    TableColumn,
    at,
    find_conditions,
    joined,
    labels_at,
    list_some,
    selector_at,
    size_of,
    text_at,
)

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _default_marked(*keys: str) -> TableColumn:
    """Return the column of the name, which says whether a class is the default one."""

    def read(obj: JSONObject, now: datetime) -> str:
        annotations = obj["metadata"].get("annotations") or {}
        is_default = any(annotations.get(key) == "true" for key in keys)
        return f"{obj['metadata']['name']}{' (default)' if is_default else ''}"

    return NAME._replace(read=read)


def _ports(obj: JSONObject, now: datetime) -> str:
    texts = []
    for port in get_at(obj, ("spec", "ports")) or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(texts) or NONE


def _cluster_ip(obj: JSONObject, now: datetime) -> str:
    return str((get_at(obj, ("spec", "clusterIPs")) or [NONE])[0])


def _addresses(obj: JSONObject, now: datetime) -> str:
    entries = get_at(obj, ("status", "loadBalancer", "ingress")) or ()
    return ",".join(sorted({found for e in entries if (found := e.get("ip") or e.get("hostname"))}))


def _external(obj: JSONObject, now: datetime) -> str:
    spec = obj.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    is_balanced = spec.get("type") == "LoadBalancer"
    balanced = _addresses(obj, now) if is_balanced else ""
    found = ",".join(filter(None, [balanced, *(spec.get("externalIPs") or ())]))
    return found or ("<pending>" if is_balanced else NONE)


def _hosts(obj: JSONObject, now: datetime) -> str:
    rules = get_at(obj, ("spec", "rules")) or ()
    hosts = [r["host"] for r in rules[:3] if r.get("host")]
    return ",".join(hosts) + (f" + {len(rules) - 3} more..." if len(rules) > 3 else "") if hosts else "*"


def _ingress_ports(obj: JSONObject, now: datetime) -> str:
    return "80, 443" if get_at(obj, ("spec", "tls")) else "80"


def _parameters(obj: JSONObject, now: datetime) -> str:
    found = get_at(obj, ("spec", "parameters"))
    if not found:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") is not None else ""
    return f"{found.get('kind', '')}{group}/{found.get('name', '')}"


def _endpoints(obj: JSONObject, now: datetime) -> str:
    texts: list[str] = []
    for subset in obj.get("subsets") or ():
        for port in [f":{p['port']}" for p in subset.get("ports") or ()] or [""]:
            found = [a["ip"] for a in subset.get("addresses") or ()]
            texts += [(f"[{ip}]" if port and ":" in ip else ip) + port for ip in found]
    return list_some(texts, NONE if not obj.get("subsets") else "")


def _slice_ports(obj: JSONObject, now: datetime) -> str:
    ports = obj.get("ports") or ()
    return list_some([str(p["port"] if p.get("port") is not None else p.get("name", "*")) for p in ports], UNSET)


def _slice_endpoints(obj: JSONObject, now: datetime) -> str:
    return list_some([a for endpoint in obj.get("endpoints") or () for a in endpoint.get("addresses") or ()], UNSET)


def _parent(obj: JSONObject, now: datetime) -> str:
    parent = get_at(obj, ("spec", "parentRef"))
    if not parent:
        return NONE
    resource = f"{parent.get('resource', '')}.{parent.get('group', '')}".rstrip(".").lower()
    return "/".join(filter(None, (resource, parent.get("namespace"), parent.get("name"))))


def _role(obj: JSONObject, now: datetime) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind')}/{role.get('name')}"


def _subjects(kind: str) -> Cell:
    def read(obj: JSONObject, now: datetime) -> str:
        chosen = [s for s in obj.get("subjects") or () if s.get("kind") == kind]
        spaces = [f"{s.get('namespace', '')}/" if kind == "ServiceAccount" else "" for s in chosen]
        return ", ".join(space + s["name"] for space, s in zip(spaces, chosen, strict=True))

    return read


def _phase(obj: JSONObject, now: datetime) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else get_at(obj, ("status", "phase")) or ""


def _modes(*path: str) -> Cell:
    def read(obj: JSONObject, now: datetime) -> str:
        found = get_at(obj, path) or ()
        return ",".join(short for mode, short in _MODES.items() if mode in found)

    return read


def _capacity(*path: str) -> Cell:
    return lambda obj, now: canonical_quantity(str(get_at(obj, (*path, "storage")) or "0")) or "0"


def _volume_class(obj: JSONObject, now: datetime) -> str:
    named = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return str(named or get_at(obj, ("spec", "storageClassName")) or "")


def _claim(obj: JSONObject, now: datetime) -> str:
    claim = get_at(obj, ("spec", "claimRef"))
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _if_bound(read: Cell) -> Cell:
    return lambda obj, now: read(obj, now) if get_at(obj, ("spec", "volumeName")) else ""


def _audiences(obj: JSONObject, now: datetime) -> str:
    requests = get_at(obj, ("spec", "tokenRequests"))
    return UNSET if requests is None else ",".join(r.get("audience", "") for r in requests)


def _available(obj: JSONObject, now: datetime) -> str:
    conditions = get_at(obj, ("status", "conditions")) or ()
    found: JSONObject = next((c for c in conditions if c.get("type") == "Available"), {})
    status, reason = found.get("status", "Unknown"), found.get("reason")
    return f"{status} ({reason})" if reason and status != "True" else str(status)


def _api_service(obj: JSONObject, now: datetime) -> str:
    service = get_at(obj, ("spec", "service"))
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def _param_kind(obj: JSONObject, now: datetime) -> str:
    kind = get_at(obj, ("spec", "paramKind"))
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET


def _param_ref(obj: JSONObject, now: datetime) -> str:
    found = get_at(obj, ("spec", "paramRef")) or {}
    return f"{found.get('namespace') or '*'}/{found['name']}" if found.get("name") else UNSET


def _certificate(obj: JSONObject, now: datetime) -> str:
    conditions = find_conditions(obj)
    word = "Denied" if "Denied" in conditions else "Approved" if "Approved" in conditions else "Pending"
    is_issued = bool(get_at(obj, ("status", "certificate")))
    return word + (",Failed" if "Failed" in conditions else "") + (",Issued" if is_issued else "")


def _requested_duration(obj: JSONObject, now: datetime) -> str:
    seconds = get_at(obj, ("spec", "expirationSeconds"))
    return NONE if seconds is None else render_age(seconds)


def _claim_state(obj: JSONObject, now: datetime) -> str:
    is_deleted, status = bool(obj["metadata"].get("deletionTimestamp")), obj.get("status") or {}
    if status.get("allocation") is None:
        return "deleted" if is_deleted else "pending"
    states = ["deleted"] if is_deleted else []
    return ",".join([*states, "allocated", *(["reserved"] if status.get("reservedFor") else [])])


def _dangling(obj: JSONObject, now: datetime) -> str:
    return find_conditions(obj).get("Dangling", "?")


def _queuing(name: str) -> TableColumn:
    key = name[:1].lower() + name[1:]
    return TableColumn(name, at("spec", "limited", "limitResponse", "queuing", key))


_BINDING = (
    NAME,
    TableColumn("Role", _role),
    AGE,
    TableColumn("Users", _subjects("User"), is_wide=True),
    TableColumn("Groups", _subjects("Group"), is_wide=True),
    TableColumn("ServiceAccounts", _subjects("ServiceAccount"), is_wide=True),
)
_WEBHOOKS = (NAME, TableColumn("Webhooks", size_of(("webhooks",)), "integer"), AGE)
_POLICY_BINDING = (NAME, TableColumn("PolicyName", at("spec", "policyName")), TableColumn("ParamRef", _param_ref), AGE)
_ATTRIBUTES = TableColumn("VolumeAttributesClass", text_at("spec", "volumeAttributesClassName"))
_VOLUME_MODE = TableColumn("VolumeMode", text_at("spec", "volumeMode"), is_wide=True)
CLUSTER_COLUMNS: Mapping[str, Sequence[TableColumn]] = {
    "namespaces": (NAME, TableColumn("Status", at("status", "phase", default="")), AGE),
    "configmaps": (NAME, TableColumn("Data", size_of(("data",), ("binaryData",))), AGE),
    "secrets": (NAME, TableColumn("Type", at("type", default="")), TableColumn("Data", size_of(("data",))), AGE),
    "serviceaccounts": (NAME, AGE),
    "services": (
        NAME,
        TableColumn("Type", at("spec", "type", default="")),
        TableColumn("Cluster-IP", _cluster_ip),
        TableColumn("External-IP", _external),
        TableColumn("Port(s)", _ports),
        AGE,
        TableColumn("Selector", labels_at("spec", "selector"), is_wide=True),
    ),
    "endpoints": (NAME, TableColumn("Endpoints", _endpoints), AGE),
    "endpointslices": (
        NAME,
        TableColumn("AddressType", at("addressType", default="")),
        TableColumn("Ports", _slice_ports),
        TableColumn("Endpoints", _slice_endpoints),
        AGE,
    ),
    "ingresses": (
        NAME,
        TableColumn("Class", text_at("spec", "ingressClassName", default=NONE)),
        TableColumn("Hosts", _hosts),
        TableColumn("Address", _addresses),
        TableColumn("Ports", _ingress_ports),
        AGE,
    ),
    "ingressclasses": (
        _default_marked("ingressclass.kubernetes.io/is-default-class"),
        TableColumn("Controller", at("spec", "controller", default="")),
        TableColumn("Parameters", _parameters),
        AGE,
    ),
    "networkpolicies": (NAME, TableColumn("Pod-Selector", selector_at("spec", "podSelector")), AGE),
    "ipaddresses": (NAME, TableColumn("ParentRef", _parent)),
    "servicecidrs": (NAME, TableColumn("CIDRs", joined(("spec", "cidrs"), "")), AGE),
    "rolebindings": _BINDING,
    "clusterrolebindings": _BINDING,
    "persistentvolumes": (
        NAME,
        TableColumn("Capacity", _capacity("spec", "capacity")),
        TableColumn("Access Modes", _modes("spec", "accessModes")),
        TableColumn("Reclaim Policy", at("spec", "persistentVolumeReclaimPolicy", default="")),
        TableColumn("Status", _phase),
        TableColumn("Claim", _claim),
        TableColumn("StorageClass", _volume_class),
        _ATTRIBUTES,
        TableColumn("Reason", at("status", "reason", default="")),
        AGE,
        _VOLUME_MODE,
    ),
    "persistentvolumeclaims": (
        NAME,
        TableColumn("Status", _phase),
        TableColumn("Volume", at("spec", "volumeName", default="")),
        TableColumn("Capacity", _if_bound(_capacity("status", "capacity"))),
        TableColumn("Access Modes", _if_bound(_modes("status", "accessModes"))),
        TableColumn("StorageClass", _volume_class),
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    "storageclasses": (
        _default_marked(
            "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
        ),
        TableColumn("Provisioner", at("provisioner", default="")),
        TableColumn("ReclaimPolicy", at("reclaimPolicy", default="Delete")),
        TableColumn("VolumeBindingMode", at("volumeBindingMode", default="Immediate")),
        TableColumn("AllowVolumeExpansion", at("allowVolumeExpansion", default=False)),
        AGE,
    ),
    "volumeattributesclasses": (NAME, TableColumn("DriverName", at("driverName", default="")), AGE),
    "volumeattachments": (
        NAME,
        TableColumn("Attacher", at("spec", "attacher", default=""), format="name"),
        TableColumn("PV", at("spec", "source", "persistentVolumeName", default="")),
        TableColumn("Node", at("spec", "nodeName", default="")),
        TableColumn("Attached", at("status", "attached", default=False), "boolean"),
        AGE,
    ),
    "csinodes": (NAME, TableColumn("Drivers", size_of(("spec", "drivers")), "integer"), AGE),
    "csidrivers": (
        NAME,
        TableColumn("AttachRequired", at("spec", "attachRequired", default=True), "boolean"),
        TableColumn("PodInfoOnMount", at("spec", "podInfoOnMount", default=False), "boolean"),
        TableColumn("StorageCapacity", at("spec", "storageCapacity", default=False), "boolean"),
        TableColumn("TokenRequests", _audiences),
        TableColumn("RequiresRepublish", at("spec", "requiresRepublish", default=False), "boolean"),
        TableColumn("Modes", joined(("spec", "volumeLifecycleModes"))),
        AGE,
    ),
    "leases": (NAME, TableColumn("Holder", at("spec", "holderIdentity", default="")), AGE),
    "priorityclasses": (
        NAME,
        TableColumn("Value", at("value", default=0), "integer"),
        TableColumn("Global-Default", at("globalDefault", default=False), "boolean"),
        AGE,
        TableColumn("PreemptionPolicy", at("preemptionPolicy", default="")),
    ),
    "runtimeclasses": (NAME, TableColumn("Handler", at("handler", default="")), AGE),
    "certificatesigningrequests": (
        NAME,
        AGE,
        TableColumn("SignerName", at("spec", "signerName")),
        TableColumn("Requestor", at("spec", "username", default="")),
        TableColumn("RequestedDuration", _requested_duration),
        TableColumn("Condition", _certificate),
    ),
    "mutatingwebhookconfigurations": _WEBHOOKS,
    "validatingwebhookconfigurations": _WEBHOOKS,
    "validatingadmissionpolicies": (
        NAME,
        TableColumn("Validations", size_of(("spec", "validations")), "integer"),
        TableColumn("ParamKind", _param_kind),
        AGE,
    ),
    "mutatingadmissionpolicies": (
        NAME,
        TableColumn("Mutations", size_of(("spec", "mutations")), "integer"),
        TableColumn("ParamKind", _param_kind),
        AGE,
    ),
    "validatingadmissionpolicybindings": _POLICY_BINDING,
    "mutatingadmissionpolicybindings": _POLICY_BINDING,
    "apiservices": (NAME, TableColumn("Service", _api_service), TableColumn("Available", _available), AGE),
    "flowschemas": (
        NAME,
        TableColumn("PriorityLevel", at("spec", "priorityLevelConfiguration", "name", default="")),
        TableColumn("MatchingPrecedence", at("spec", "matchingPrecedence", default=0)),
        TableColumn("DistinguisherMethod", at("spec", "distinguisherMethod", "type")),
        AGE,
        TableColumn("MissingPL", _dangling),
    ),
    "prioritylevelconfigurations": (
        NAME,
        TableColumn("Type", at("spec", "type", default="")),
        TableColumn("NominalConcurrencyShares", at("spec", "limited", "nominalConcurrencyShares")),
        *(_queuing(name) for name in ("Queues", "HandSize", "QueueLengthLimit")),
        AGE,
    ),
    "deviceclasses": (NAME, AGE),
    "resourceclaims": (NAME, TableColumn("State", _claim_state), AGE),
    "resourceclaimtemplates": (NAME, AGE),
    "resourceslices": (
        NAME,
        TableColumn("Node", at("spec", "nodeName", default="")),
        TableColumn("Driver", at("spec", "driver", default="")),
        TableColumn("Pool", at("spec", "pool", "name", default="")),
        AGE,
    ),
}
