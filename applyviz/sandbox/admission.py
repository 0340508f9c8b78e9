"""What the default admission plugins and the address allotment add to an object.

Rule: the plugins that a kube-apiserver v1.36.3 runs by default (DefaultTolerationSeconds, Priority, …) and the
ranges of a Service. No webhooks, no quotas, no Pod security; a Pod is never scheduled.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.quantities import parse_quantity
from applyviz.sandbox.status import FieldError, forbidden_request, invalid
from applyviz.sandbox.store import Store
from applyviz.sandbox.targets import Target

SERVICE_RANGE = ipaddress.ip_network("10.96.0.0/16")
NODE_PORTS = range(30000, 32768)
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit_create(target: Target, obj: MutableObject, store: Store) -> None:
    """Add what admission adds to a new object.

    - Raises `StatusError` (403) for a priority class that does not exist.
    """
    if target.struct is None:
        return
    if target.struct.name == "core/v1.Pod":
        _admit_pod(obj, store)
    elif target.plural == "persistentvolumeclaims":
        _admit_claim(obj, store)
    elif target.plural == "ingresses":
        _admit_ingress(obj, store)


def _admit_pod(obj: MutableObject, store: Store) -> None:
    spec = obj["spec"]
    tolerations = spec.setdefault("tolerations", [])
    for key in _UNREACHABLE:
        if not any(t.get("key") in (key, None) and t.get("effect", "NoExecute") == "NoExecute" for t in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    _set_priority(obj, spec, store)
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}


def _set_priority(obj: MutableObject, spec: MutableObject, store: Store) -> None:
    name, value, policy = spec.get("priorityClassName") or "", 0, "PreemptLowerPriority"
    classes = store.list("scheduling.k8s.io", "priorityclasses")
    if not name:
        chosen = next((c for c in classes if c.get("globalDefault")), None)
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    else:
        chosen = next((c for c in classes if c["metadata"]["name"] == name), None)
        if chosen is None and name not in _SYSTEM_PRIORITIES:
            detail = f"no PriorityClass with name {name} was found"
            raise forbidden_request("", "pods", obj["metadata"].get("name", ""), detail)
        value = _SYSTEM_PRIORITIES.get(name, 0)
    if chosen is not None:
        value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy", policy)
    spec["priority"], spec["preemptionPolicy"] = value, spec.get("preemptionPolicy") or policy


def _is_positive(text: Any) -> bool:
    parsed = parse_quantity(str(text))
    return parsed is not None and parsed[0] > 0


def qos_class(spec: JSONObject) -> str:
    """Guaranteed, Burstable or BestEffort, from the containers' cpu and memory."""
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


def _admit_ingress(obj: MutableObject, store: Store) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    if obj["spec"].get("ingressClassName") is None and "kubernetes.io/ingress.class" not in annotations:
        name = _find_default(
            store, "networking.k8s.io", "ingressclasses", "ingressclass.kubernetes.io/is-default-class"
        )
        if name is not None:
            obj["spec"]["ingressClassName"] = name


class Allotment:
    """The cluster addresses and node ports that Services of a store hold."""

    def __init__(self, store: Store) -> None:
        self._addresses: set[str] = set()
        self._ports: set[int] = set()
        for service in store.list("", "services"):
            self._addresses.update(service["spec"].get("clusterIPs") or ())
            self._ports.update(p["nodePort"] for p in service["spec"].get("ports") or () if p.get("nodePort"))
            if service["spec"].get("healthCheckNodePort"):
                self._ports.add(service["spec"]["healthCheckNodePort"])

    def take_address(self, seed: str) -> str:
        """A free address; the same seed starts at the same place."""
        size = SERVICE_RANGE.num_addresses - 2
        start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
        for step in range(size):
            address = str(SERVICE_RANGE[1 + (start + step) % size])
            if address not in self._addresses:
                self._addresses.add(address)
                return address
        return ""

    def take_port(self, seed: str) -> int:
        """A free node port; the same seed starts at the same place."""
        start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
        for step in range(len(NODE_PORTS)):
            port = NODE_PORTS[(start + step) % len(NODE_PORTS)]
            if port not in self._ports:
                self._ports.add(port)
                return port
        return 0

    def check(self, spec: JSONObject, own: JSONObject) -> list[FieldError]:
        """The problems of addresses and ports that somebody else holds."""
        errors = []
        address = spec.get("clusterIP") or ""
        if address not in ("", "None", own.get("clusterIP")) and address in self._addresses:
            errors.append(
                invalid(
                    "spec.clusterIPs", [address], f"failed to allocate IP {address}: provided IP is already allocated"
                )
            )
        mine = {p.get("nodePort") for p in own.get("ports") or ()}
        for i, port in enumerate(spec.get("ports") or ()):
            wanted = port.get("nodePort")
            if wanted and wanted not in mine and wanted in self._ports:
                errors.append(invalid(f"spec.ports[{i}].nodePort", wanted, "provided port is already allocated"))
        return errors


def allot_service(obj: MutableObject, live: JSONObject | None, store: Store) -> list[FieldError]:
    """Give a Service its addresses and ports, or keep those it holds; gives the problems of asked ones."""
    spec, held = obj["spec"], (live or {}).get("spec") or {}
    allotment = Allotment(store)
    errors = allotment.check(spec, held)
    seed = f"{obj['metadata'].get('namespace')}/{obj['metadata'].get('name')}"
    if spec["type"] == "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if live is not None and name in held:
                spec.pop(name, None)
        return errors
    if held.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(name) and held.get(name):
                spec[name] = held[name]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = (spec.get("clusterIPs") or [""])[0] or allotment.take_address(seed)
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    is_headless_free = spec["clusterIP"] == "None" and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if is_headless_free else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_headless_free else "SingleStack")
    _allot_ports(spec, held, allotment, seed)
    return errors


def _allot_ports(spec: MutableObject, held: JSONObject, allotment: Allotment, seed: str) -> None:
    wants = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    )
    before = {(p.get("protocol"), p.get("port")): p.get("nodePort") for p in held.get("ports") or ()}
    for port in spec.get("ports") or ():
        kept = before.get((port.get("protocol"), port.get("port")))
        if wants and not port.get("nodePort"):
            port["nodePort"] = kept or allotment.take_port(f"{seed}/{port.get('port')}/{port.get('protocol')}")
        elif spec["type"] == "ClusterIP" and port.get("nodePort") == kept:
            port.pop("nodePort", None)
    needs_check = spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if needs_check and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = held.get("healthCheckNodePort") or allotment.take_port(f"{seed}/health")
