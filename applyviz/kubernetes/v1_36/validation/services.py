"""Validation of Services.

Rule: validateService in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.field_order import render_ordered
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    qualified_name_problems,
    subdomain_problems,
    validate_labels,
)
from applyviz.kubernetes.parity.status import (
    FieldError,
    FieldErrorType,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation.addresses import validate_address, validate_network, validate_reachable
from applyviz.kubernetes.v1_36.validation.ports import PORT_RANGE, PROTOCOLS, port_name_problems

_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_MOST_AFFINITY = 86_400
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_SEVERAL = {"clusterIPs": "cluster IPs", "ipFamilies": "IP families"}
_CHOICES = (
    ("internalTrafficPolicy", ("Cluster", "Local")),
    ("trafficDistribution", ("PreferClose", "PreferSameZone", "PreferSameNode")),
)


def _service(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    # The server chooses addresses before it validates the rest, so it names nothing beside their problems.
    unfit = list(_cluster_addresses(spec)) if spec.get("type") != "ExternalName" else []
    yield from unfit or _fields(spec)


def _fields(spec: JSONObject) -> Iterator[FieldError]:
    kind, ports, address = spec.get("type"), spec.get("ports") or (), spec.get("clusterIP") or ""
    if not ports and address != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and address == "None":
        yield invalid("spec.clusterIPs[0]", address, f"may not be set to 'None' for {kind} services")
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
    yield from _external_addresses(spec)
    yield from _balancing(spec)


def _new_service(obj: JSONObject) -> Iterator[FieldError]:
    problems = list(_service(obj))
    yield from problems
    if not problems:
        yield from validate_families(obj["spec"])


def _external_name(spec: JSONObject) -> Iterator[FieldError]:
    # The server copies `clusterIP` to `clusterIPs` before it validates them.
    addressed = {**spec, "clusterIPs": spec.get("clusterIPs") or spec.get("clusterIP")}
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if addressed.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
        return
    for problem in subdomain_problems(name):
        yield invalid("spec.externalName", name, problem)


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
        yield invalid(f"{path}.port", number, PORT_RANGE)
    if port.get("protocol") not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), PROTOCOLS)
    if isinstance(target, int) and not 1 <= target <= 65535:
        yield invalid(f"{path}.targetPort", target, PORT_RANGE)
    elif isinstance(target, str):
        for problem in port_name_problems(target):
            yield invalid(f"{path}.targetPort", target, problem)
    yield from _qualified(port.get("appProtocol"), f"{path}.appProtocol")


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
            detail = f"Duplicate value: {render_ordered(shown)}"
            yield FieldError(FieldErrorType.DUPLICATE, f"spec.ports[{i}]", detail)
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
    for name, allowed in _CHOICES:
        if spec.get(name) not in (*allowed, None):
            yield not_supported(f"spec.{name}", spec[name], allowed)
    yield from _affinity(spec)
    if spec.get("healthCheckNodePort") and not (
        kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    ):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], detail)


def _affinity(spec: JSONObject) -> Iterator[FieldError]:
    config, affinity = spec.get("sessionAffinityConfig"), spec.get("sessionAffinity")
    if config is not None and affinity == "None":
        yield forbidden("spec.sessionAffinityConfig", "must not be set when session affinity is None")
    seconds = get_at(config or {}, ("clientIP", "timeoutSeconds"))  # defaults fill it in
    if affinity == "ClientIP" and seconds is not None and not 0 < seconds <= _MOST_AFFINITY:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid(path, seconds, f"must be greater than 0 and less than {_MOST_AFFINITY}")


def _external_addresses(spec: JSONObject) -> Iterator[FieldError]:
    for i, outer in enumerate(spec.get("externalIPs") or ()):
        problems = list(validate_address(outer, f"spec.externalIPs[{i}]"))
        yield from problems or validate_reachable(outer, f"spec.externalIPs[{i}]")


def _balancing(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of fields that only load balancers have."""
    is_balanced, ranges = spec.get("type") == "LoadBalancer", spec.get("loadBalancerSourceRanges") or ()
    path, detail = "spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'"
    if ranges and not is_balanced:
        yield forbidden(path, detail)
    for i, text in enumerate(ranges):
        yield from validate_network(text.strip(), f"{path}[{i}]")
    if not is_balanced:
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(name) is not None:
                yield forbidden(f"spec.{name}", detail)
        return
    yield from _qualified(spec.get("loadBalancerClass"), "spec.loadBalancerClass")


def _qualified(name: str | None, path: str) -> Iterator[FieldError]:
    yield from (invalid(path, name, problem) for problem in (qualified_name_problems(name) if name is not None else ()))


def validate_families(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the families that the cluster cannot give: it has IPv4 addresses only.

    - Rule: the allocator asks for them after a valid Service, so these problems stand alone.
    """
    if spec.get("type") == "ExternalName":
        return
    if spec.get("ipFamilyPolicy", "SingleStack") == "SingleStack":
        several = [word for name, word in _SEVERAL.items() if len(spec.get(name) or ()) == 2]
        if several:
            detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
            yield from (invalid("spec.ipFamilyPolicy", "SingleStack", detail.format(word)) for word in several)
            return
    if not spec.get("selector"):
        return
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", "RequireDualStack", detail)
    for i, family in enumerate(spec.get("ipFamilies") or ()):
        if family == "IPv6":
            yield invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster")


def _cluster_addresses(spec: JSONObject) -> Iterator[FieldError]:
    families = spec.get("ipFamilies") or []
    addresses = spec.get("clusterIPs") or [a for a in (spec.get("clusterIP"),) if a]
    if spec.get("ipFamilyPolicy", "SingleStack") not in _FAMILY_POLICIES:
        yield not_supported("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], _FAMILY_POLICIES)
    for i, family in enumerate(families):
        if family not in _FAMILIES:
            yield not_supported(f"spec.ipFamilies[{i}]", family, _FAMILIES)
        if family in families[:i]:
            yield duplicate(f"spec.ipFamilies[{i}]", family)
    if addresses and not spec.get("clusterIP"):
        yield invalid("spec.clusterIPs", [*addresses], "must be empty when `clusterIP` is not specified")
    problems: list[FieldError] = []
    for i, address in enumerate(addresses):
        if address != "None":
            problems += validate_address(address, f"spec.clusterIPs[{i}]")
        elif len(addresses) > 1:
            problems.append(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
    yield from problems or _match_families(addresses, families)


def _match_families(addresses: Sequence[str], families: Sequence[str]) -> Iterator[FieldError]:
    """Yield the valid addresses that are of another family than the one that is named for them."""
    found = [f"IPv{6 if ':' in address else 4}" for address in addresses]
    if len(set(found)) < len(found):
        yield invalid("spec.clusterIPs", [*addresses], "may specify no more than one IP for each IP family")
    for i, (address, is_of, family) in enumerate(zip(addresses, found, families, strict=False)):
        if address != "None" and family in _FAMILIES and family != is_of:
            detail = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            yield invalid(f"spec.clusterIPs[{i}]", address, detail)


def _service_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    spec, before = obj["spec"], live["spec"]
    name = "loadBalancerClass"
    if spec.get("type") == before.get("type") == "LoadBalancer" and spec.get(name) != before.get(name):
        yield invalid(f"spec.{name}", spec.get(name), "may not change once set")
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    entry, wanted = before.get("clusterIPs") or [], spec.get("clusterIPs") or []
    is_readable = not any(problem for one in wanted if one != "None" for problem in validate_address(one, ""))
    if is_readable and entry and wanted and entry[0] != wanted[0]:
        yield invalid("spec.clusterIPs[0]", wanted, "may not change once set")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"services": _new_service}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {"services": _service_update}
