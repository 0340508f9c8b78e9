"""A Service that clients outside the cluster can reach.

Rule: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types: a LoadBalancer
and a NodePort open a port on every node or on an address of the provider; `externalIPs` open one on these addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Risk, RiskKind, RiskSubject
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, position_of

_OPEN = ("LoadBalancer", "NodePort")


EXPOSED = RiskKind(
    "exposed", "Reachable from outside", "Clients outside the cluster can reach Service {name}: {how}, {ports}."
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


@rule(170)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield each way by which a Service becomes reachable from outside."""
    if subject.ref.key[:2] != ("", "Service") or subject.manifest is None:
        return
    before = _find_openings(subject.live)
    for opening, name in _list_new(subject.result or subject.manifest, before):
        facts = {"name": subject.ref.name, "how": opening, "ports": _name_ports(subject.result or subject.manifest)}
        yield EXPOSED.at(fields("spec", name), facts, position_of(subject, ("spec", name)))
