"""Judge which traffic a NetworkPolicy allows in one direction, and how a write changes it.

Rule: https://kubernetes.io/docs/concepts/services-networking/network-policies/. A policy that does not apply to a
direction says nothing about it. A policy that applies allows what its rules name, and everything by an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

from applyviz.engine.objects.values import JSONObject, get_at


class Traffic(Enum):
    """How much traffic in one direction a policy allows; without a policy, or one that applies, nothing is said."""

    UNSAID = "unsaid"
    NONE = "none"
    SOME = "some"
    ALL = "all"


Judge: TypeAlias = Callable[[str, JSONObject | None, JSONObject], bool]


def _measure(direction: str, policy: JSONObject | None) -> Traffic:
    spec = get_at(policy, ("spec",), None) or {}
    types = spec.get("policyTypes") or (["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    if not policy or direction.capitalize() not in types:
        return Traffic.UNSAID
    rules = spec.get(direction) or []
    if any(all(part in (None, []) for part in (rule or {}).values()) for rule in rules):
        return Traffic.ALL
    return Traffic.SOME if rules else Traffic.NONE


def _moves(befores: tuple[Traffic, ...], after: Traffic, *, is_live: bool = True) -> Judge:
    """Return whether a write leads from one of these amounts to another one; `is_live`: only of a live policy."""
    return lambda direction, live, result: (
        not (is_live and live is None) and _measure(direction, live) in befores and _measure(direction, result) is after
    )


def _has_idle_rules(direction: str, _live: JSONObject | None, result: JSONObject) -> bool:
    has_rules = bool(get_at(result, ("spec", direction), None))
    return has_rules and _measure(direction, result) is Traffic.UNSAID


CHANGES: Mapping[str, Judge] = {
    "open-policy": _moves((Traffic.UNSAID, Traffic.NONE, Traffic.SOME), Traffic.ALL, is_live=False),
    "restricts-less": _moves((Traffic.NONE, Traffic.SOME), Traffic.UNSAID),
    "restricts-more": _moves((Traffic.UNSAID,), Traffic.SOME),
    "allows-nothing": _moves((Traffic.UNSAID, Traffic.SOME, Traffic.ALL), Traffic.NONE),
    "rules-without-effect": _has_idle_rules,
}
"""The risks of a NetworkPolicy: whether each holds for a direction, the live policy and the written one."""
