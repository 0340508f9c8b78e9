"""Validation of Ingresses, NetworkPolicies and Endpoints.

Rule: `pkg/apis/networking/validation` and `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, path_segment_problems, subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.addresses import validate_address, validate_network, validate_reachable
from applyviz.kubernetes.v1_36.validation.ports import PORT_RANGE, PROTOCOLS, port_name_problems
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector

_WILDCARD = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def _ingress(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    name = spec.get("ingressClassName")
    yield from _subdomain(name, "spec.ingressClassName", is_empty_wrong=name is not None)
    for i, part in enumerate(spec.get("tls") or ()):
        for j, host in enumerate(part.get("hosts") or ()):
            yield from _host(host, f"spec.tls[{i}].hosts[{j}]", is_empty_wrong=True)
        yield from _subdomain(part.get("secretName"), f"spec.tls[{i}].secretName")
    for i, rule in enumerate(spec.get("rules") or ()):
        yield from _ingress_rule(rule, f"spec.rules[{i}]")


def _subdomain(text: str | None, path: str, *, is_empty_wrong: bool = False) -> Iterator[FieldError]:
    problems = subdomain_problems(text or "") if text or is_empty_wrong else ()
    yield from (invalid(path, text or "", problem) for problem in problems)


def _host(text: str | None, path: str, *, is_empty_wrong: bool = False) -> Iterator[FieldError]:
    """Yield the problems of a host; a wildcard prefix is allowed."""
    if not text or "*" not in text:
        yield from _subdomain(text, path, is_empty_wrong=is_empty_wrong)
    elif not text.startswith("*.") or subdomain_problems(text.removeprefix("*.")):
        yield invalid(path, text, _WILDCARD)


def _ingress_rule(rule: JSONObject, path: str) -> Iterator[FieldError]:
    host = rule.get("host") or ""
    with suppress(ValueError):
        yield invalid(f"{path}.host", str(ipaddress.ip_address(host)) and host, "must be a DNS name, not an IP address")
    yield from _host(host, f"{path}.host")
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
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{at}.pathType", kind, _PATH_TYPES)
    elif kind in ("Exact", "Prefix"):
        yield from _literal_path(text, f"{at}.path")
    elif text and not text.startswith("/"):
        yield invalid(f"{at}.path", text, "must be an absolute path")
    yield from _backend(path.get("backend") or {}, f"{at}.backend")


def _literal_path(text: str, path: str) -> Iterator[FieldError]:
    if not text.startswith("/"):
        yield invalid(path, text, "must be an absolute path")
    if not text:
        return
    for sequence in ("//", "/./", "/../", "%2f", "%2F"):
        if sequence in text:
            yield invalid(path, text, f"must not contain '{sequence}'")
    for suffix in ("/..", "/."):
        if text.endswith(suffix):
            yield invalid(path, text, f"cannot end with '{suffix}'")


def _backend(backend: JSONObject, path: str) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is None and resource is None:
        yield invalid(path, "", "resource or service backend is required")
    elif service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif service is not None:
        yield from _backend_service(service, path)
    elif resource is not None:
        group = resource.get("apiGroup")
        yield from _subdomain(group, f"{path}.resource.apiGroup", is_empty_wrong=group is not None)
        for field in ("kind", "name"):
            text, at = resource.get(field) or "", f"{path}.resource.{field}"
            if not text:
                yield required(at)
            yield from (invalid(at, text, problem) for problem in path_segment_problems(text))


def _backend_service(service: JSONObject, path: str) -> Iterator[FieldError]:
    name, port = service.get("name", ""), service.get("port") or {}
    if not name:
        yield required(f"{path}.service.name")
    problems = label_problems(name) if name else []
    yield from (invalid(f"{path}.service.name", name, problem) for problem in problems)
    if port.get("name") and port.get("number"):
        yield invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        problems = port_name_problems(port["name"])
        yield from (invalid(f"{path}.service.port.name", port["name"], problem) for problem in problems)
    elif not port.get("number"):
        yield required(path, "port name or number is required")
    elif not 1 <= port["number"] <= 65535:
        yield invalid(f"{path}.service.port.number", port["number"], PORT_RANGE)


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
    kinds = spec.get("policyTypes") or []
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for i, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{i}]", kind, ("Ingress", "Egress"))


def _policy_port(port: JSONObject, path: str) -> Iterator[FieldError]:
    if port.get("protocol") not in (None, "TCP", "UDP", "SCTP"):
        yield not_supported(f"{path}.protocol", port["protocol"], ("TCP", "UDP", "SCTP"))
    number = port.get("port")
    if isinstance(number, int) and not 1 <= number <= 65535:
        yield invalid(f"{path}.port", number, PORT_RANGE)
    elif isinstance(number, str):
        for problem in port_name_problems(number):
            yield invalid(f"{path}.port", number, problem)
    yield from _end_port(port, f"{path}.endPort")


def _end_port(port: JSONObject, path: str) -> Iterator[FieldError]:
    end, number = port.get("endPort"), port.get("port")
    if end is None:
        return
    if number is None:
        yield invalid(path, end, "may not be specified when `port` is not specified")
    elif isinstance(number, str):
        yield invalid(path, end, "may not be specified when `port` is non-numeric")
    elif end < number:
        # The server names the port, not the end.
        yield invalid(path, number, "must be greater than or equal to `port`")
    elif end > 65535:
        yield invalid(path, end, PORT_RANGE)


def _peer(peer: JSONObject, path: str) -> Iterator[FieldError]:
    if not any(peer.get(n) is not None for n in ("podSelector", "namespaceSelector", "ipBlock")):
        yield required(path, "must specify a peer")
    for name in ("podSelector", "namespaceSelector"):
        yield from validate_selector(peer.get(name), f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, f"{path}.ipBlock")
    if peer.get("ipBlock") is not None and len([v for v in peer.values() if v is not None]) > 1:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _block(block: JSONObject, path: str) -> Iterator[FieldError]:
    cidr = block.get("cidr", "")
    problems = list(validate_network(cidr, f"{path}.cidr")) if cidr else [required(f"{path}.cidr")]
    yield from problems
    for i, part in enumerate(block.get("except") or ()):
        wrong = list(validate_network(part, f"{path}.except[{i}]"))
        yield from wrong
        if not problems and not wrong and not _is_within(part, cidr):
            yield invalid(f"{path}.except[{i}]", part, "must be a strict subset of `cidr`")


def _is_within(part: str, whole: str) -> bool:
    inner, outer = ipaddress.ip_network(part), ipaddress.ip_network(whole)
    return inner.version == outer.version and inner.prefixlen > outer.prefixlen and inner.network_address in outer


def _endpoints(obj: JSONObject) -> Iterator[FieldError]:
    for i, subset in enumerate(obj.get("subsets") or ()):
        path, ports = f"subsets[{i}]", subset.get("ports") or ()
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for kind in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(kind) or ()):
                yield from _endpoint_address(address, f"{path}.{kind}[{j}]")
        for j, port in enumerate(ports):
            yield from _endpoint_port(port, len(ports) > 1, f"{path}.ports[{j}]")


def _endpoint_address(address: JSONObject, path: str) -> Iterator[FieldError]:
    # The server checks the address twice.
    yield from validate_address(address.get("ip", ""), f"{path}.ip")
    for name in ("hostname", "nodeName"):
        value, find = address.get(name), label_problems if name == "hostname" else subdomain_problems
        yield from (invalid(f"{path}.{name}", value, problem) for problem in (find(value) if value else ()))
    yield from validate_reachable(address.get("ip", ""), f"{path}.ip")


def _endpoint_port(port: JSONObject, needs_name: bool, path: str) -> Iterator[FieldError]:
    name, number = port.get("name", ""), port.get("port", 0)
    if needs_name and not name:
        yield required(f"{path}.name")
    yield from (invalid(f"{path}.name", name, problem) for problem in (label_problems(name) if name else ()))
    if not 1 <= number <= 65535:
        yield invalid(f"{path}.port", number, PORT_RANGE)
    if port.get("protocol") not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), PROTOCOLS)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "endpoints": _endpoints,
    "ingresses": _ingress,
    "networkpolicies": _network_policy,
}
