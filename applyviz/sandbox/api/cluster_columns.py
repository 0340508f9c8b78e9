"""The columns of built-in kinds other than workloads: network, configuration, access, storage, admission.

Rule: k8s.io/kubernetes `pkg/printers/internalversion/printers.go`; of APIServices, their own table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from applyviz.engine.objects.quantities import canonical_quantity
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.sandbox.api.ages import render_age
from applyviz.sandbox.api.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
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
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def _default_marked(*keys: str) -> Column:
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
    named = (obj["metadata"].get("annotations") or {}).get(_OLD_CLASS)
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


def _queuing(name: str) -> Column:
    key = name[:1].lower() + name[1:]
    return Column(name, at("spec", "limited", "limitResponse", "queuing", key))


_BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    Column("Users", _subjects("User"), is_wide=True),
    Column("Groups", _subjects("Group"), is_wide=True),
    Column("ServiceAccounts", _subjects("ServiceAccount"), is_wide=True),
)
_WEBHOOKS = (NAME, Column("Webhooks", size_of(("webhooks",)), "integer"), AGE)
_POLICY_BINDING = (NAME, Column("PolicyName", at("spec", "policyName")), Column("ParamRef", _param_ref), AGE)
_ATTRIBUTES = Column("VolumeAttributesClass", text_at("spec", "volumeAttributesClassName"))
_VOLUME_MODE = Column("VolumeMode", text_at("spec", "volumeMode"), is_wide=True)
CLUSTER_COLUMNS: Mapping[str, Sequence[Column]] = {
    "namespaces": (NAME, Column("Status", at("status", "phase", default="")), AGE),
    "configmaps": (NAME, Column("Data", size_of(("data",), ("binaryData",))), AGE),
    "secrets": (NAME, Column("Type", at("type", default="")), Column("Data", size_of(("data",))), AGE),
    "serviceaccounts": (NAME, AGE),
    "services": (
        NAME,
        Column("Type", at("spec", "type", default="")),
        Column("Cluster-IP", _cluster_ip),
        Column("External-IP", _external),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", labels_at("spec", "selector"), is_wide=True),
    ),
    "endpoints": (NAME, Column("Endpoints", _endpoints), AGE),
    "endpointslices": (
        NAME,
        Column("AddressType", at("addressType", default="")),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_endpoints),
        AGE,
    ),
    "ingresses": (
        NAME,
        Column("Class", text_at("spec", "ingressClassName", default=NONE)),
        Column("Hosts", _hosts),
        Column("Address", _addresses),
        Column("Ports", _ingress_ports),
        AGE,
    ),
    "ingressclasses": (
        _default_marked("ingressclass.kubernetes.io/is-default-class"),
        Column("Controller", at("spec", "controller", default="")),
        Column("Parameters", _parameters),
        AGE,
    ),
    "networkpolicies": (NAME, Column("Pod-Selector", selector_at("spec", "podSelector")), AGE),
    "ipaddresses": (NAME, Column("ParentRef", _parent)),
    "servicecidrs": (NAME, Column("CIDRs", joined(("spec", "cidrs"), "")), AGE),
    "rolebindings": _BINDING,
    "clusterrolebindings": _BINDING,
    "persistentvolumes": (
        NAME,
        Column("Capacity", _capacity("spec", "capacity")),
        Column("Access Modes", _modes("spec", "accessModes")),
        Column("Reclaim Policy", at("spec", "persistentVolumeReclaimPolicy", default="")),
        Column("Status", _phase),
        Column("Claim", _claim),
        Column("StorageClass", _volume_class),
        _ATTRIBUTES,
        Column("Reason", at("status", "reason", default="")),
        AGE,
        _VOLUME_MODE,
    ),
    "persistentvolumeclaims": (
        NAME,
        Column("Status", _phase),
        Column("Volume", at("spec", "volumeName", default="")),
        Column("Capacity", _if_bound(_capacity("status", "capacity"))),
        Column("Access Modes", _if_bound(_modes("status", "accessModes"))),
        Column("StorageClass", _volume_class),
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    "storageclasses": (
        _default_marked(
            "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
        ),
        Column("Provisioner", at("provisioner", default="")),
        Column("ReclaimPolicy", at("reclaimPolicy", default="Delete")),
        Column("VolumeBindingMode", at("volumeBindingMode", default="Immediate")),
        Column("AllowVolumeExpansion", at("allowVolumeExpansion", default=False)),
        AGE,
    ),
    "volumeattributesclasses": (NAME, Column("DriverName", at("driverName", default="")), AGE),
    "volumeattachments": (
        NAME,
        Column("Attacher", at("spec", "attacher", default=""), format="name"),
        Column("PV", at("spec", "source", "persistentVolumeName", default="")),
        Column("Node", at("spec", "nodeName", default="")),
        Column("Attached", at("status", "attached", default=False), "boolean"),
        AGE,
    ),
    "csinodes": (NAME, Column("Drivers", size_of(("spec", "drivers")), "integer"), AGE),
    "csidrivers": (
        NAME,
        Column("AttachRequired", at("spec", "attachRequired", default=True), "boolean"),
        Column("PodInfoOnMount", at("spec", "podInfoOnMount", default=False), "boolean"),
        Column("StorageCapacity", at("spec", "storageCapacity", default=False), "boolean"),
        Column("TokenRequests", _audiences),
        Column("RequiresRepublish", at("spec", "requiresRepublish", default=False), "boolean"),
        Column("Modes", joined(("spec", "volumeLifecycleModes"))),
        AGE,
    ),
    "leases": (NAME, Column("Holder", at("spec", "holderIdentity", default="")), AGE),
    "priorityclasses": (
        NAME,
        Column("Value", at("value", default=0), "integer"),
        Column("Global-Default", at("globalDefault", default=False), "boolean"),
        AGE,
        Column("PreemptionPolicy", at("preemptionPolicy", default="")),
    ),
    "runtimeclasses": (NAME, Column("Handler", at("handler", default="")), AGE),
    "certificatesigningrequests": (
        NAME,
        AGE,
        Column("SignerName", at("spec", "signerName")),
        Column("Requestor", at("spec", "username", default="")),
        Column("RequestedDuration", _requested_duration),
        Column("Condition", _certificate),
    ),
    "mutatingwebhookconfigurations": _WEBHOOKS,
    "validatingwebhookconfigurations": _WEBHOOKS,
    "validatingadmissionpolicies": (
        NAME,
        Column("Validations", size_of(("spec", "validations")), "integer"),
        Column("ParamKind", _param_kind),
        AGE,
    ),
    "mutatingadmissionpolicies": (
        NAME,
        Column("Mutations", size_of(("spec", "mutations")), "integer"),
        Column("ParamKind", _param_kind),
        AGE,
    ),
    "validatingadmissionpolicybindings": _POLICY_BINDING,
    "mutatingadmissionpolicybindings": _POLICY_BINDING,
    "apiservices": (NAME, Column("Service", _api_service), Column("Available", _available), AGE),
    "flowschemas": (
        NAME,
        Column("PriorityLevel", at("spec", "priorityLevelConfiguration", "name", default="")),
        Column("MatchingPrecedence", at("spec", "matchingPrecedence", default=0)),
        Column("DistinguisherMethod", at("spec", "distinguisherMethod", "type")),
        AGE,
        Column("MissingPL", _dangling),
    ),
    "prioritylevelconfigurations": (
        NAME,
        Column("Type", at("spec", "type", default="")),
        Column("NominalConcurrencyShares", at("spec", "limited", "nominalConcurrencyShares")),
        *(_queuing(name) for name in ("Queues", "HandSize", "QueueLengthLimit")),
        AGE,
    ),
    "deviceclasses": (NAME, AGE),
    "resourceclaims": (NAME, Column("State", _claim_state), AGE),
    "resourceclaimtemplates": (NAME, AGE),
    "resourceslices": (
        NAME,
        Column("Node", at("spec", "nodeName", default="")),
        Column("Driver", at("spec", "driver", default="")),
        Column("Pool", at("spec", "pool", "name", default="")),
        AGE,
    ),
}
