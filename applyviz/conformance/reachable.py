"""Which clients reach what through a Service or an Ingress, as facts that prove or refute a risk; no rule is asked."""

from __future__ import annotations

from ipaddress import ip_network

from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.values import JSONObject, get_at


def _list_ways(service: JSONObject) -> set[str]:
    """Return the routes by which clients outside the cluster reach a Service."""
    spec = service.get("spec") or {}
    routes = {str(address) for address in spec.get("externalIPs") or ()}
    if spec.get("type") == "LoadBalancer":
        routes.add("balancer")
    if spec.get("type") == "NodePort" or any(port.get("nodePort") for port in spec.get("ports") or ()):
        routes.add("nodes")
    return routes


def opens_service(planned: Planned) -> bool:
    """Return whether a Service gets a way from outside that it did not have."""
    versions = planned.change.versions
    live, after = versions.live or {}, versions.after or versions.live or {}
    if planned.change.ref.gvk.kind != "Service" or planned.change.ref.gvk.group or not planned.change.has_effect:
        return False
    new = _list_ways(after) - _list_ways(live)
    if _admits_more(live, after):
        return True
    return bool(new - {"nodes"} if get_at(after, ("spec", "type")) == "LoadBalancer" else new)


def _admits_more(live: JSONObject, after: JSONObject) -> bool:
    """Return whether a load balancer admits an address that it did not: the first of a range, or past one of before."""
    if any(get_at(obj, ("spec", "type"), None) != "LoadBalancer" for obj in (live, after)):
        return False
    old, new = (_list_spans(obj) for obj in (live, after))
    tried = {(version, end + 1) for version, _start, end in old} | {(version, start) for version, start, _end in new}
    return any(_is_in(new, one) and not _is_in(old, one) for one in tried)


def _is_in(spans: list[tuple[int, int, int]], address: tuple[int, int]) -> bool:
    return any(version == address[0] and start <= address[1] <= end for version, start, end in spans)


def _list_spans(service: JSONObject) -> list[tuple[int, int, int]]:
    """Return whom a load balancer admits: versions of IP, the first and the last address of each range."""
    spec, annotations = service.get("spec") or {}, get_at(service, ("metadata", "annotations"), None) or {}
    written = annotations.get("service.beta.kubernetes.io/load-balancer-source-ranges") or ""
    ranges = spec.get("loadBalancerSourceRanges") or [text for text in written.split(",") if text.strip()]
    if not ranges:
        families = spec.get("ipFamilies") or ("IPv4", "IPv6")
        return [(6, 0, 2**128 - 1) if family == "IPv6" else (4, 0, 2**32 - 1) for family in families]
    networks = (ip_network(text.strip(), strict=False) for text in ranges)
    return [(one.version, int(one.network_address), int(one.broadcast_address)) for one in networks]


def _find_selecting(planned: Planned) -> tuple[bool, bool] | None:
    """Return whether a live Service with addresses in the cluster selects pods before and after a write."""
    versions = planned.change.versions
    if planned.change.ref.gvk.kind != "Service" or planned.change.ref.gvk.group or versions.live is None:
        return None
    before, after = versions.live["spec"], (versions.after or versions.live)["spec"]
    if "ExternalName" in (before.get("type"), after.get("type")):
        return None
    return bool(before.get("selector")), bool(after.get("selector"))


def keeps_endpoints(planned: Planned) -> bool:
    """Return whether the controllers of endpoints had work for a Service before a write, and have none after it."""
    return _find_selecting(planned) == (True, False)


def replaces_endpoints(planned: Planned) -> bool:
    """Return whether the controllers of endpoints had no work for a Service before a write, and have some after it."""
    return _find_selecting(planned) == (False, True)


def changes_class(planned: Planned) -> bool:
    """Return whether an Ingress is given to the controllers of another class, or of none any more."""
    versions, gvk = planned.change.versions, planned.change.ref.gvk
    if (gvk.group, gvk.kind) != ("networking.k8s.io", "Ingress") or versions.live is None:
        return False
    classes = []
    for obj in (versions.live, versions.after or versions.live):
        annotations = get_at(obj, ("metadata", "annotations"), None) or {}
        field = get_at(obj, ("spec", "ingressClassName"), None)
        classes.append(field or annotations.get("kubernetes.io/ingress.class") or "")
    return classes[0] != classes[1]
