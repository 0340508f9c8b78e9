"""Validation of EndpointSlices.

Rule: `pkg/apis/discovery/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, duplicate, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.addresses import validate_address, validate_reachable
from applyviz.kubernetes.v1_36.validation.ports import PROTOCOLS

_TYPES = ("FQDN", "IPv4", "IPv6")
_TOO_FEW = "should be a domain with at least two segments separated by dots"


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
        yield from _node(endpoint.get("nodeName"), f"endpoints[{i}].nodeName")
        yield from _hints(endpoint.get("hints") or {}, f"endpoints[{i}].hints")
        for n, address in enumerate(endpoint.get("addresses") or ()):
            if kind in ("IPv4", "IPv6"):
                yield from _address(address, kind, path, f"{path}[{n}]")
            elif kind == "FQDN":
                yield from _domain(address, f"{path}[{n}]")


def _node(name: str | None, path: str) -> Iterator[FieldError]:
    yield from (invalid(path, name, problem) for problem in (subdomain_problems(name) if name is not None else ()))


def _hints(hints: JSONObject, path: str) -> Iterator[FieldError]:
    for kind, find_problems in (("forZones", label_value_problems), ("forNodes", subdomain_problems)):
        names: set[str] = set()
        for i, one in enumerate(hints.get(kind) or ()):
            at, name = f"{path}.{kind}[{i}].name", one.get("name", "")
            if name in names:
                yield duplicate(at, name)
            names.add(name)
            yield from (invalid(at, name, problem) for problem in find_problems(name))


def _domain(text: str, path: str) -> Iterator[FieldError]:
    name = text.removesuffix(".")
    problems = subdomain_problems(name)
    labels = [(label, found) for label in name.split(".") if (found := label_problems(label))]
    if not text:
        yield required(path)
    elif problems:
        yield invalid(path, name, ",".join(problems))
    elif "." not in name:
        yield invalid(path, name, _TOO_FEW)
    elif labels:
        yield invalid(path, labels[0][0], ",".join(labels[0][1]))


def _ports(ports: list[JSONObject]) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        name, protocol = port.get("name") or "", port.get("protocol")
        for problem in label_problems(name) if name else ():
            yield invalid(f"ports[{i}].name", name, problem)
        if name in names:
            yield duplicate(f"ports[{i}].name", name)
        names.add(name)
        if protocol not in PROTOCOLS:
            yield not_supported(f"ports[{i}].protocol", protocol, PROTOCOLS)
        above = port.get("appProtocol")
        problems = qualified_name_problems(above) if above is not None else []
        yield from (invalid(f"ports[{i}].appProtocol", above, problem) for problem in problems)


def _address(text: str, kind: str, path: str, at: str) -> Iterator[FieldError]:
    problems = list(validate_address(text, at))
    yield from problems
    if problems:
        return
    if f"IPv{6 if ':' in text else 4}" != kind:
        yield invalid(path, text, f"must be an {kind} address")
    yield from validate_reachable(text, at)


def _slice_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    if obj.get("addressType") != live.get("addressType"):
        yield invalid("addressType", obj.get("addressType", ""), IMMUTABLE)
    if not is_same_json(obj.get("endpoints"), live.get("endpoints")):
        yield from _endpoints(obj)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"endpointslices": _slice}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"endpointslices": _changed}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {"endpointslices": _slice_update}
