"""The traffic that a change lets through or stops: to Services and by Ingresses, Gateways and NetworkPolicies.

Rule: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types: a LoadBalancer
and a NodePort open a port on every node or on an address of the provider; `externalIPs` open one on these addresses.
`loadBalancerSourceRanges`, or the annotation before it, limit the clients of a load balancer; none of them is no limit.
A NetworkPolicy applies to the directions that `policyTypes` names, whatever rules it has, and an empty rule allows all
traffic (https://kubernetes.io/docs/concepts/services-networking/network-policies/); it selects pods by `podSelector`.
The controllers of endpoints write those of a Service with a selector, and no others (`pkg/controller/endpointslice`,
`pkg/controller/endpoint`); they leave EndpointSlices alone that name another manager. A class chooses the controller of
an Ingress or a Gateway.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from applyviz.engine.objects.kinds import Kind
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.selectors import LabelSelector, read_selector, selects_within
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, map_at, position_of, texts_of

_OPEN = ("LoadBalancer", "NodePort")
_DIRECTIONS = ("ingress", "egress")
_RANGES = ("spec", "loadBalancerSourceRanges")
_RANGES_BEFORE = ("metadata", "annotations", "service.beta.kubernetes.io/load-balancer-source-ranges")
_SELECTOR, _POD_SELECTOR = ("spec", "selector"), ("spec", "podSelector")
# The fields that name the class of a kind, the one that counts first.
_CLASSES: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    ("networking.k8s.io", "Ingress"): (
        ("spec", "ingressClassName"),
        ("metadata", "annotations", "kubernetes.io/ingress.class"),
    ),
    ("gateway.networking.k8s.io", "Gateway"): (("spec", "gatewayClassName"),),
}
_HIGHEST = 2**128
_EVERY = {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}


def _describe(f: Facts) -> Templates:
    if "added" in f:
        return ("The load balancer of Service {name} now also accepts clients from {added}.",)
    if "before" in f:
        return ("The load balancer of Service {name} now accepts all clients, no longer only those from {before}.",)
    return ("Clients outside the cluster can reach Service {name}: {how}, {ports}.",)


def _describe_class(f: Facts) -> Templates:
    if "after" not in f:
        return ("{kind} {name} no longer names class {before}: the controller of that class may stop serving it.",)
    if "before" not in f:
        return ("{kind} {name} now names class {after}: a controller that serves it without a class may stop.",)
    moved = "{kind} {name} moves from class {before} to {after}."
    return (moved, "If they have different controllers, the former one stops serving it, and its address changes.")


def _describe_less(f: Facts) -> Templates:
    if "direction" in f:
        return ("The policy no longer applies to {direction}, so it no longer restricts that traffic.",)
    return ("The policy selects other pods: it no longer restricts those that only its former selector matched.",)


def _describe_more(f: Facts) -> Templates:
    if "direction" in f:
        return ("The policy now applies to {direction}: of that traffic, it allows only what its rules name.",)
    return (
        "The policy selects other pods: for those that only its new selector matches, it allows only the traffic that "
        "its rules name.",
    )


EXPOSED = RiskKind("exposed", "Reachable from outside", _describe)
ENDPOINTS_STAY = RiskKind(
    "endpoints-stay",
    "Endpoints are no longer updated",
    "Service {name} no longer selects pods: it keeps its current endpoints, even after their pods are gone.",
)
ENDPOINTS_REPLACED = RiskKind(
    "endpoints-replaced",
    "Endpoints are replaced",
    "Service {name} now selects pods: Kubernetes writes their addresses into its Endpoints and removes all others. "
    "Traffic still goes to EndpointSlices that others manage.",
)
CLASS_CHANGES = RiskKind("class-changes", "Another controller may serve it", _describe_class)
OPEN_POLICY = RiskKind(
    "open-policy",
    "Allows all traffic",
    "An empty rule in {direction} allows all traffic, whatever the other rules say.",
)
RESTRICTS_LESS = RiskKind(
    "restricts-less",
    "Restricts less traffic",  # other policies may restrict the same pods
    _describe_less,
)
RESTRICTS_MORE = RiskKind(
    "restricts-more",
    "Restricts more traffic",
    _describe_more,
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


@rule(172)
def find_other_endpoints(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that a live Service begins or ceases to select pods, which decides who writes its endpoints."""
    live, result = subject.live, subject.result
    if subject.ref.key[:2] != ("", "Service") or live is None or result is None or subject.manifest is None:
        return
    has_pods = all(get_at(obj, ("spec", "type")) != "ExternalName" for obj in (live, result))
    selected, selects = (bool(map_at(obj, *_SELECTOR)) for obj in (live, result))
    if has_pods and selected is not selects:
        kind = ENDPOINTS_REPLACED if selects else ENDPOINTS_STAY
        yield kind.at(fields(*_SELECTOR), {"name": subject.ref.name}, position_of(subject, _SELECTOR))


def _find_class(obj: JSONObject, paths: Iterable[tuple[str, ...]]) -> tuple[str, tuple[str, ...]] | None:
    """Return the class of an object and the field that names it, None for an object without one."""
    found = ((get_at(obj, path), path) for path in paths)
    return next(((str(name), path) for name, path in found if name), None)


@rule(175)
def find_class_change(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that a live object names another class, or that it gains or loses the only one."""
    live, result, paths = subject.live, subject.result, _CLASSES.get(subject.ref.key[:2])
    if paths is None or live is None or result is None or subject.manifest is None:
        return
    before, after = _find_class(live, paths), _find_class(result, paths)
    named = before or after
    if named is None or (before and after and before[0] == after[0]):
        return
    facts = {"kind": subject.ref.gvk.kind, "name": subject.ref.name}
    facts |= {"before": before[0]} if before else {}
    facts |= {"after": after[0]} if after else {}
    path = (after or named)[1]
    yield CLASS_CHANGES.at(fields(*path), facts, position_of(subject, path))


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


def _restricts(policy: JSONObject) -> bool:
    """Return whether a policy does not allow all traffic of its pods."""
    return not all(_is_open(policy, name) for name in _list_directions(policy))


@rule(167)
def find_other_pods(subject: RiskSubject) -> Iterator[Risk]:
    """Yield that a live NetworkPolicy selects other pods, and whether it restricts fewer or more of them by that."""
    live, result = subject.live, subject.result
    if live is None or result is None or not _is_policy(subject):
        return
    # A policy without a selector selects every pod.
    before, after = (read_selector(map_at(one, *_POD_SELECTOR)) or LabelSelector() for one in (live, result))
    position = position_of(subject, _POD_SELECTOR)
    if _restricts(result) and not selects_within(after, before):
        yield RESTRICTS_MORE.at(fields(*_POD_SELECTOR), position=position)
    if _restricts(live) and not selects_within(before, after):
        yield RESTRICTS_LESS.at(fields(*_POD_SELECTOR), position=position)
