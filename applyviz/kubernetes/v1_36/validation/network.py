"""Validation of Services, Ingresses, NetworkPolicies and HorizontalPodAutoscalers.

Rule: `pkg/apis/core/validation`, `pkg/apis/networking/validation`, `pkg/apis/autoscaling/validation`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, subdomain_problems, validate_labels
from applyviz.kubernetes.parity.status import FieldError, duplicate, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.ports import port_name_problems
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector

_PORT_RANGE = "must be between 1 and 65535, inclusive"
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def service_name_problems(name: str) -> list[str]:
    """Return the problems of a Service's name."""
    return label_problems(name)


def _service(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    kind, ports, address = spec.get("type"), spec.get("ports") or (), spec.get("clusterIP") or ""
    if not ports and address != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind == "LoadBalancer" and address == "None":
        yield invalid("spec.clusterIPs[0]", address, "may not be set to 'None' for LoadBalancer services")
    if kind == "NodePort" and address == "None":
        yield invalid("spec.clusterIPs[0]", address, "may not be set to 'None' for NodePort services")
    if kind == "ExternalName":
        yield from _external_name(spec)
    names: set[str] = set()
    for i, port in enumerate(ports):
        yield from _service_port(port, f"spec.ports[{i}]", len(ports) > 1, names)
    yield from _duplicate_ports(ports)
    yield from _exposure(spec)
    yield from validate_labels(spec.get("selector"), "spec.selector")
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        yield not_supported("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    if kind not in _SERVICE_TYPES:
        yield not_supported("spec.type", kind, _SERVICE_TYPES)
    yield from _cluster_addresses(spec)


def _external_name(spec: JSONObject) -> Iterator[FieldError]:
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
        return
    for problem in subdomain_problems(name):
        yield invalid("spec.externalName", spec["externalName"], problem)


def _service_port(port: JSONObject, path: str, needs_name: bool, names: set[str]) -> Iterator[FieldError]:
    name, number, target = port.get("name", ""), port.get("port", 0), port.get("targetPort")
    if needs_name and not name:
        yield required(f"{path}.name")
    elif name:
        for problem in label_problems(name):
            yield invalid(f"{path}.name", name, problem)
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    if not 1 <= number <= 65535:
        yield invalid(f"{path}.port", number, _PORT_RANGE)
    if port.get("protocol") not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
    if isinstance(target, int) and not 1 <= target <= 65535:
        yield invalid(f"{path}.targetPort", target, _PORT_RANGE)
    elif isinstance(target, str):
        for problem in port_name_problems(target):
            yield invalid(f"{path}.targetPort", target, problem)


def _duplicate_ports(ports: Sequence[JSONObject]) -> Iterator[FieldError]:
    seen: set[tuple[object, object]] = set()
    for i, port in enumerate(ports):
        mark = (port.get("protocol"), port.get("port"))
        if mark in seen:
            shown: JSONObject = {
                "Name": "",
                "Protocol": mark[0],
                "AppProtocol": None,
                "Port": mark[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(f"spec.ports[{i}]", shown)
        seen.add(mark)


def _exposure(spec: JSONObject) -> Iterator[FieldError]:
    """Yield fields that only Services with external access may set."""
    kind = spec.get("type")
    is_external = kind in ("NodePort", "LoadBalancer") or spec.get("externalIPs")
    for i, port in enumerate(spec.get("ports") or ()):
        node = port.get("nodePort")
        if node and kind == "ClusterIP":
            yield forbidden(f"spec.ports[{i}].nodePort", "may not be used when `type` is 'ClusterIP'")
        elif node and not 30000 <= node <= 32767:
            detail = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(f"spec.ports[{i}].nodePort", node, detail)
    if spec.get("externalTrafficPolicy") and not is_external:
        detail = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", spec["externalTrafficPolicy"], detail)
    if spec.get("selector"):
        yield from _families(spec)


def _families(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of IP families: the cluster has IPv4 addresses only."""
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", "RequireDualStack", detail)
    for i, family in enumerate(spec.get("ipFamilies") or ()):
        if family == "IPv6":
            yield invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster")


def _cluster_addresses(spec: JSONObject) -> Iterator[FieldError]:
    for i, address in enumerate(spec.get("clusterIPs") or [a for a in (spec.get("clusterIP"),) if a]):
        if address == "None":
            continue
        try:
            ipaddress.ip_address(address)
        except ValueError:
            yield invalid(
                f"spec.clusterIPs[{i}]", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            )


def _service_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    spec, before = obj["spec"], live["spec"]
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    entry, wanted = before.get("clusterIPs") or [], spec.get("clusterIPs") or []
    if entry and wanted and entry[0] != wanted[0]:
        yield invalid("spec.clusterIPs[0]", wanted, "may not change once set")


def _ingress(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    yield from _subdomain(spec.get("ingressClassName"), "spec.ingressClassName")
    for i, part in enumerate(spec.get("tls") or ()):
        for j, host in enumerate(part.get("hosts") or ()):
            yield from _subdomain(host, f"spec.tls[{i}].hosts[{j}]")
    for i, rule in enumerate(spec.get("rules") or ()):
        yield from _ingress_rule(rule, f"spec.rules[{i}]")


def _subdomain(text: str | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of a host or name; a wildcard prefix is allowed."""
    for problem in subdomain_problems(text.removeprefix("*.")) if text else ():
        yield invalid(path, text, problem)


def _ingress_rule(rule: JSONObject, path: str) -> Iterator[FieldError]:
    yield from _subdomain(rule.get("host"), f"{path}.host")
    if rule.get("http") is None:
        return
    if not rule["http"].get("paths"):
        yield required(f"{path}.http.paths")
    for i, item in enumerate(rule["http"].get("paths") or ()):
        yield from _ingress_path(item, f"{path}.http.paths[{i}]")


def _ingress_path(path: JSONObject, at: str) -> Iterator[FieldError]:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        yield required(f"{at}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        yield not_supported(f"{at}.pathType", kind, _PATH_TYPES)
    elif kind in ("Exact", "Prefix") and not text.startswith("/"):
        yield invalid(f"{at}.path", text, "must be an absolute path")
    yield from _backend(path.get("backend") or {}, f"{at}.backend")


def _backend(backend: JSONObject, path: str) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is None and resource is None:
        yield invalid(path, "", "resource or service backend is required")
    elif service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif service is not None:
        port = service.get("port") or {}
        if not service.get("name"):
            yield required(f"{path}.service.name")
        if port.get("name") and port.get("number"):
            yield invalid(path, "", "cannot set both port name & port number")
        elif not port.get("name") and not port.get("number"):
            yield required(path, "port name or number is required")


def _network_policy(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from validate_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(spec.get(direction) or ()):
            at = f"spec.{direction}[{i}]"
            for j, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{at}.{peers}[{j}]")
            for j, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port(port, f"{at}.ports[{j}]")
    for i, kind in enumerate(spec.get("policyTypes") or ()):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{i}]", kind, ("Ingress", "Egress"))


def _policy_port(port: JSONObject, path: str) -> Iterator[FieldError]:
    if port.get("protocol") not in (None, "TCP", "UDP", "SCTP"):
        yield not_supported(f"{path}.protocol", port["protocol"], ("TCP", "UDP", "SCTP"))
    number = port.get("port")
    if isinstance(number, int) and not 1 <= number <= 65535:
        yield invalid(f"{path}.port", number, _PORT_RANGE)
    elif isinstance(number, str):
        for problem in port_name_problems(number):
            yield invalid(f"{path}.port", number, problem)


def _peer(peer: JSONObject, path: str) -> Iterator[FieldError]:
    if not any(peer.get(n) is not None for n in ("podSelector", "namespaceSelector", "ipBlock")):
        yield required(path, "must specify a peer")
    block = peer.get("ipBlock")
    if block is not None:
        try:
            ipaddress.ip_network(block.get("cidr", ""), strict=False)
        except ValueError:
            detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"{path}.ipBlock.cidr", block.get("cidr", ""), detail)
    if peer.get("ipBlock") is not None and len([v for v in peer.values() if v is not None]) > 1:
        yield forbidden(path, "may not specify both ipBlock and another peer")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "services": _service,
    "ingresses": _ingress,
    "networkpolicies": _network_policy,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {"services": _service_update}
