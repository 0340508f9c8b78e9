"""Validation of EndpointSlices.

Rule: `pkg/apis/discovery/validation` of k8s.io/kubernetes v1.36.3. Left out: hints, node names and full domain names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.kubernetes.parity.name_formats import label_problems
from applyviz.kubernetes.parity.status import FieldError, duplicate, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.job_updates import IMMUTABLE

_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def _slice(obj: JSONObject) -> Iterator[FieldError]:
    yield from _changed(obj)
    yield from _endpoints(obj)


def _changed(obj: JSONObject) -> Iterator[FieldError]:
    kind = obj.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _TYPES:
        yield not_supported("addressType", kind, _TYPES)
    yield from _ports(obj.get("ports") or [])


def _endpoints(obj: JSONObject) -> Iterator[FieldError]:
    kind = obj.get("addressType", "")
    for i, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{i}].addresses"
        if not endpoint.get("addresses"):
            yield required(path, "must contain at least 1 address")
        host = endpoint.get("hostname")
        for problem in label_problems(host) if host is not None else ():
            yield invalid(f"endpoints[{i}].hostname", host, problem)
        for n, address in enumerate(endpoint.get("addresses") or ()):
            if kind in ("IPv4", "IPv6"):
                yield from _address(address, kind, path, f"{path}[{n}]")


def _ports(ports: list[JSONObject]) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        name, protocol = port.get("name") or "", port.get("protocol")
        for problem in label_problems(name) if name else ():
            yield invalid(f"ports[{i}].name", name, problem)
        if name in names:
            yield duplicate(f"ports[{i}].name", name)
        names.add(name)
        if protocol not in _PROTOCOLS:
            yield not_supported(f"ports[{i}].protocol", protocol, _PROTOCOLS)


def _address(text: str, kind: str, path: str, at: str) -> Iterator[FieldError]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        yield invalid(at, text, _NO_ADDRESS)
        return
    if f"IPv{address.version}" != kind:
        yield invalid(path, text, f"must be an {kind} address")
    if address.is_unspecified:
        yield invalid(at, text, "may not be unspecified (0.0.0.0 or ::)")
    elif address.is_loopback:
        yield invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.is_link_local:
        yield invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    elif address.is_multicast and address.packed[:3] == b"\xe0\0\0":
        yield invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def _slice_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("addressType") != live.get("addressType"):
        yield invalid("addressType", obj.get("addressType", ""), IMMUTABLE)
    if not is_same_json(obj.get("endpoints"), live.get("endpoints")):
        yield from _endpoints(obj)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"endpointslices": _slice}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"endpointslices": _changed}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {"endpointslices": _slice_update}
