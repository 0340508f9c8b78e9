"""The traffic that a change lets through: to Services from outside the cluster, and by NetworkPolicies.

Rule: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types: a LoadBalancer
and a NodePort open a port on every node or on an address of the provider; `externalIPs` open one on these addresses.
`loadBalancerSourceRanges`, or the annotation before it, limit the clients of a load balancer; none of them is no limit.
A NetworkPolicy applies to the directions that `policyTypes` names, whatever rules it has, and an empty rule allows all
traffic (https://kubernetes.io/docs/concepts/services-networking/network-policies/).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, position_of, texts_of

_OPEN = ("LoadBalancer", "NodePort")
_DIRECTIONS = ("ingress", "egress")
_RANGES = ("spec", "loadBalancerSourceRanges")
_RANGES_BEFORE = ("metadata", "annotations", "service.beta.kubernetes.io/load-balancer-source-ranges")
_HIGHEST = 2**128
_EVERY = {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}


def _describe(f: Facts) -> Templates:
    if "added" in f:
        return ("The load balancer of Service {name} accepts clients from {added}, too.",)
    if "before" in f:
        return ("The load balancer of Service {name} no longer accepts clients from {before} alone, but all.",)
    return ("Clients outside the cluster can reach Service {name}: {how}, {ports}.",)


EXPOSED = RiskKind("exposed", "Reachable from outside", _describe)
OPEN_POLICY = RiskKind(
    "open-policy",
    "Allows all traffic",
    "An empty rule in {direction} allows all traffic, whatever the other rules say.",
)
RESTRICTS_LESS = RiskKind(
    "restricts-less",
    "Restricts less traffic",  # other policies may restrict the same pods
    "The policy no longer applies to {direction}, so it no longer restricts that traffic.",
)
RESTRICTS_MORE = RiskKind(
    "restricts-more",
    "Restricts more traffic",
    "The policy now applies to {direction}, so of that traffic it allows only what its rules name.",
)
IDLE_RULES = RiskKind(
    "rules-without-effect",
    "Rules without effect",
    "The policy does not apply to {direction}, so its rules for that traffic have no effect.",
)
ALLOWS_NOTHING = RiskKind(
    "allows-nothing",
    "Allows no traffic",
    "The policy applies to {direction} without a rule, so it allows none of that traffic.",
)


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


def _find_ends(network: IPv4Network | IPv6Network) -> tuple[int, int]:
    return int(network.network_address), int(network.broadcast_address)


class _Ranges:
    """Ranges of addresses; `ip_network` raises `ValueError` for a text that is none."""

    def __init__(self, texts: Iterable[str]) -> None:
        networks = [ip_network(text, strict=False) for text in texts]
        self._of_version = {
            4: [_find_ends(one) for one in collapse_addresses(n for n in networks if isinstance(n, IPv4Network))],
            6: [_find_ends(one) for one in collapse_addresses(n for n in networks if isinstance(n, IPv6Network))],
        }

    def cover(self, text: str) -> bool:
        """Return whether they hold every address of a range; what is no range is never new."""
        try:
            wanted = ip_network(text, strict=False)
        except ValueError:
            return True
        # None of them overlap, so only the last one that begins before it can hold it.
        known, (first, last) = self._of_version[wanted.version], _find_ends(wanted)
        at = bisect_right(known, (first, _HIGHEST)) - 1
        return at >= 0 and last <= known[at][1]


def _list_every(service: JSONObject) -> list[str]:
    """Return the ranges of a load balancer without a limit: every address of the families of its Service."""
    families = [one for one in list_at(service, "spec", "ipFamilies") if one in _EVERY]
    return [_EVERY[str(one)] for one in families or _EVERY]


def _find_wider(subject: RiskSubject, live: JSONObject, result: JSONObject) -> Iterator[Risk]:
    """Yield that a load balancer accepts more clients than it did."""
    if any(get_at(obj, ("spec", "type")) != "LoadBalancer" for obj in (live, result)):
        return
    before, after = _list_ranges(live), _list_ranges(result)
    try:
        known = _Ranges(before)
        added = [one for one in after or _list_every(result) if not known.cover(one)]
    except ValueError:  # servers once took other spellings, of which only their end is certain
        added = [] if after else _list_every(result)
    if not before or not added:
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


def _is_policy(subject: RiskSubject) -> bool:
    """Return whether a NetworkPolicy is written."""
    is_written = subject.manifest is not None and subject.result is not None
    return is_written and subject.ref.key[:2] == ("networking.k8s.io", "NetworkPolicy")


def _list_directions(policy: JSONObject | None) -> list[str]:
    """Return the directions to which a policy applies; an estimate may lack the default that a server sets."""
    if policy is None:
        return []
    named = dict.fromkeys(str(one).lower() for one in list_at(policy, "spec", "policyTypes"))
    return list(named) or [name for name in _DIRECTIONS if name == "ingress" or list_at(policy, "spec", name)]


def _is_open(policy: JSONObject | None, direction: str) -> bool:
    """Return whether a policy applies to a direction with an empty rule, also one with empty parts."""
    rules = list_at(policy, "spec", direction) if direction in _list_directions(policy) else []
    return any(not (any(one.values()) if isinstance(one, Mapping) else one) for one in rules)


def _at_rules(kind: RiskKind, subject: RiskSubject, direction: str) -> Risk:
    return kind.at(fields("spec", direction), {"direction": direction}, position_of(subject, ("spec", direction)))


@rule(160)
def find_open_policy(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the directions in which a NetworkPolicy newly allows all traffic, or does not restrict it after all."""
    if not _is_policy(subject):
        return
    live, result = subject.live, subject.result
    kept = _list_directions(result)
    for name in _DIRECTIONS:
        if _is_open(result, name) and not _is_open(live, name):
            yield _at_rules(OPEN_POLICY, subject, name)
        if name not in kept and list_at(result, "spec", name):
            yield _at_rules(IDLE_RULES, subject, name)
    for name in _list_directions(live):
        if name not in kept and not _is_open(live, name):
            position = position_of(subject, ("spec", "policyTypes"))
            yield RESTRICTS_LESS.at(fields("spec", "policyTypes"), {"direction": name}, position)


@rule(165)
def find_narrower_policy(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the directions of a live NetworkPolicy that lose their last rule, or to which it now applies."""
    if subject.live is None or not _is_policy(subject):
        return
    before = _list_directions(subject.live)
    for name in _list_directions(subject.result):
        has_rules = bool(list_at(subject.result, "spec", name))
        if not has_rules and (name not in before or list_at(subject.live, "spec", name)):
            yield _at_rules(ALLOWS_NOTHING, subject, name)
        elif has_rules and name not in before and not _is_open(subject.result, name):
            yield _at_rules(RESTRICTS_MORE, subject, name)
