"""Allocate addresses and node ports of Services: once, kept, and released when a type no longer needs them.

Rule: `pkg/registry/core/service` of k8s.io/kubernetes (allocation, `dropTypeDependentFields`). An address outside the
range of the sandbox is accepted: manifests are written for other clusters.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.kubernetes.parity.status import FieldError, StatusError, invalid
from applyviz.sandbox.storage.store import Store

SERVICE_RANGE = ipaddress.ip_network("10.96.0.0/16")
NODE_PORTS = range(30000, 32768)


class ServiceAllocation:
    """The cluster addresses and node ports that are allocated in a store."""

    def __init__(self, store: Store) -> None:
        self._addresses: set[str] = set()
        self._ports: set[int] = set()
        for service in store.list("", "services"):
            self._addresses.update(service["spec"].get("clusterIPs") or ())
            self._ports.update(p["nodePort"] for p in service["spec"].get("ports") or () if p.get("nodePort"))
            if service["spec"].get("healthCheckNodePort"):
                self._ports.add(service["spec"]["healthCheckNodePort"])

    def take_address(self, seed: str) -> str:
        """Return a free address; the search for one seed always begins at the same address."""
        size = SERVICE_RANGE.num_addresses - 2
        start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
        for step in range(size):
            address = str(SERVICE_RANGE[1 + (start + step) % size])
            if address not in self._addresses:
                self._addresses.add(address)
                return address
        return ""

    def take_port(self, seed: str) -> int:
        """Return a free node port; the search for one seed always begins at the same port."""
        start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
        for step in range(len(NODE_PORTS)):
            port = NODE_PORTS[(start + step) % len(NODE_PORTS)]
            if port not in self._ports:
                self._ports.add(port)
                return port
        return 0

    def check(self, spec: JSONObject, own: JSONObject) -> list[FieldError]:
        """Return the problems of addresses and ports that other Services use."""
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


def _drop_dependents(spec: MutableObject, live_spec: JSONObject) -> None:
    """Remove fields that only the former type of the Service needed, unless they were changed as well."""
    for name, needs in _NEEDED.items():
        if name in spec and needs(live_spec) and not needs(spec) and spec[name] == live_spec.get(name):
            del spec[name]
    if needs_node_ports(live_spec) and not needs_node_ports(spec):
        before = {p.get("nodePort") for p in live_spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in before:
                port.pop("nodePort", None)


def _follow_address(spec: MutableObject, live_spec: JSONObject) -> None:
    """Apply a changed or emptied clusterIP to clusterIPs."""
    if spec.get("clusterIPs") == live_spec.get("clusterIPs") and spec.get("clusterIP") != live_spec.get("clusterIP"):
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        else:
            spec.pop("clusterIPs", None)


def _needs_address(spec: JSONObject) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_ports(spec: JSONObject) -> bool:
    """Return whether the type of a Service listens on nodes."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _is_balanced(spec: JSONObject) -> bool:
    return spec.get("type") == "LoadBalancer"


def _is_external(spec: JSONObject) -> bool:
    return needs_node_ports(spec) or bool(spec.get("externalIPs"))


_NEEDED: Mapping[str, Callable[[JSONObject], bool]] = {
    "clusterIP": _needs_address,
    "clusterIPs": _needs_address,
    "ipFamilies": _needs_address,
    "ipFamilyPolicy": _needs_address,
    "healthCheckNodePort": lambda spec: _is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local",
    "allocateLoadBalancerNodePorts": _is_balanced,
    "loadBalancerClass": _is_balanced,
    "externalTrafficPolicy": _is_external,
}


def allocate_service(obj: MutableObject, live: JSONObject | None, store: Store) -> list[FieldError]:
    """Allocate the addresses and ports of a Service, or keep them; return the problems of requested ones.

    - Raises `StatusError` (500) for an update with one node port twice: ports are allocated before they are validated.
    """
    spec, live_spec = obj["spec"], (live or {}).get("spec") or {}
    if live is not None:
        _follow_address(spec, live_spec)
        _drop_dependents(spec, live_spec)
    if not _needs_address(spec):
        return []
    allocation = ServiceAllocation(store)
    errors = allocation.check(spec, live_spec)
    seed = f"{obj['metadata'].get('namespace')}/{obj['metadata'].get('name')}"
    if _needs_address(live_spec):
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(name) and live_spec.get(name):
                spec[name] = live_spec[name]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = (spec.get("clusterIPs") or [""])[0] or allocation.take_address(seed)
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    is_headless_free = spec["clusterIP"] == "None" and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if is_headless_free else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_headless_free else "SingleStack")
    _allocate_ports(spec, live_spec, allocation, seed)
    if live is not None:
        _refuse_doubles(spec)
    return errors


def _refuse_doubles(spec: JSONObject) -> None:
    taken = Counter((p.get("protocol"), p["nodePort"]) for p in spec.get("ports") or () if p.get("nodePort"))
    for (protocol, number), count in taken.items():
        if count > 1:
            raise StatusError(500, "", f"duplicate nodePort: {{{protocol} {number}}}")


def _list_free(ports: Sequence[JSONObject], live_spec: JSONObject) -> dict[str, int]:
    """Return the node port of each live port by its name, without those that the new ports name themselves."""
    named = {port.get("nodePort") for port in ports}
    live = {port.get("name", ""): port.get("nodePort") or 0 for port in live_spec.get("ports") or ()}
    return {name: number for name, number in live.items() if number not in named}


def _allocate_ports(spec: MutableObject, live_spec: JSONObject, allocation: ServiceAllocation, seed: str) -> None:
    wants = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    )
    ports = spec.get("ports") or ()
    before = _list_free(ports, live_spec)
    # Ports of one number get one node port together; later ones get their own.
    shared = {} if needs_node_ports(live_spec) else {p.get("port"): p["nodePort"] for p in ports if p.get("nodePort")}
    for port in ports if wants else ():
        number, protocol = port.get("port"), port.get("protocol")
        if port.get("nodePort"):
            continue
        kept = before.get(port.get("name", "")) or shared.get(number)
        port["nodePort"] = kept or allocation.take_port(f"{seed}/{number}/{protocol}")
        if not needs_node_ports(live_spec):
            shared[number] = port["nodePort"]
    needs_check = spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if needs_check and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = live_spec.get("healthCheckNodePort") or allocation.take_port(f"{seed}/health")
