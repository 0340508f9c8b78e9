"""A Service that clients outside the cluster can reach.

Rule: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types: a LoadBalancer
and a NodePort open a port on every node or on an address of the provider; `externalIPs` open one on these addresses.
`loadBalancerSourceRanges`, or the annotation before it, limit the clients of a load balancer; none of them is no limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TypeAlias

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, position_of, texts_of

_OPEN = ("LoadBalancer", "NodePort")
_RANGES = ("spec", "loadBalancerSourceRanges")
_RANGES_BEFORE = ("metadata", "annotations", "service.beta.kubernetes.io/load-balancer-source-ranges")
_Network: TypeAlias = IPv4Network | IPv6Network


def _describe(f: Facts) -> Templates:
    if "added" in f:
        return ("The load balancer of Service {name} accepts clients from {added}, too.",)
    if "before" in f:
        return ("The load balancer of Service {name} no longer accepts clients from {before} alone, but all.",)
    return ("Clients outside the cluster can reach Service {name}: {how}, {ports}.",)


EXPOSED = RiskKind("exposed", "Reachable from outside", _describe)


def _find_openings(service: JSONObject | None) -> set[str]:
    """Return how a Service is open to the outside; one with a load balancer mostly listens on nodes too."""
    kind = get_at(service, ("spec", "type"))
    openings = {str(kind)} if kind in _OPEN else set()
    if any(get_at(port, ("nodePort",)) for port in list_at(service, "spec", "ports")):
        openings.add("NodePort")
    return openings | {str(address) for address in list_at(service, "spec", "externalIPs")}


def _list_new(service: JSONObject | None, before: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each new way, and the field that opens it."""
    kind = str(get_at(service, ("spec", "type")))
    if kind in _OPEN and kind not in before:
        yield kind, "type"
    addresses = [str(address) for address in list_at(service, "spec", "externalIPs") if str(address) not in before]
    if addresses:
        yield join_names(addresses), "externalIPs"


def _name_ports(service: JSONObject | None) -> str:
    ports = list(dict.fromkeys(str(get_at(port, ("port",))) for port in list_at(service, "spec", "ports")))
    return f"{'port' if len(ports) == 1 else 'ports'} {join_names(ports)}" if ports else "without a port"


def _list_ranges(service: JSONObject | None) -> list[str]:
    """Return the ranges of addresses to which a load balancer limits its clients, [] for no limit."""
    ranges = [str(one).strip() for one in list_at(service, *_RANGES)]
    written = texts_of(service, "annotations").get(_RANGES_BEFORE[-1], "")
    return ranges or [one.strip() for one in written.split(",") if one.strip()]


def _covers(ranges: list[str], one: str) -> bool:
    """Return whether ranges together hold every address of another one; what is no range is never new."""
    try:
        wanted: _Network = ip_network(one, strict=False)
        known: list[_Network] = [ip_network(text, strict=False) for text in ranges]
    except ValueError:
        return True
    if isinstance(wanted, IPv4Network):
        return any(wanted.subnet_of(k) for k in collapse_addresses(n for n in known if isinstance(n, IPv4Network)))
    return any(wanted.subnet_of(k) for k in collapse_addresses(n for n in known if isinstance(n, IPv6Network)))


def _find_wider(subject: RiskSubject, live: JSONObject, result: JSONObject) -> Iterator[Risk]:
    """Yield that a load balancer accepts more clients than it did."""
    if any(get_at(obj, ("spec", "type")) != "LoadBalancer" for obj in (live, result)):
        return
    before, after = _list_ranges(live), _list_ranges(result)
    added = [one for one in after if not _covers(before, one)]
    if not before or (after and not added):
        return
    path = _RANGES if list_at(live, *_RANGES) or list_at(result, *_RANGES) else _RANGES_BEFORE
    facts = {"name": subject.ref.name, **({"added": join_names(added)} if after else {"before": join_names(before)})}
    yield EXPOSED.at(fields(*path), facts, position_of(subject, path))


@rule(170)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield each way by which a Service becomes reachable from outside, or by more clients."""
    if subject.ref.key[:2] != ("", "Service") or subject.manifest is None:
        return
    before = _find_openings(subject.live)
    for opening, name in _list_new(subject.result or subject.manifest, before):
        facts = {"name": subject.ref.name, "how": opening, "ports": _name_ports(subject.result or subject.manifest)}
        yield EXPOSED.at(fields("spec", name), facts, position_of(subject, ("spec", name)))
    if subject.live is not None:
        yield from _find_wider(subject, subject.live, subject.result or subject.manifest)
