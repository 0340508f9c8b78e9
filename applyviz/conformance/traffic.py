"""Judge which traffic a NetworkPolicy allows in one direction, and how a write changes it.

Rule: https://kubernetes.io/docs/concepts/services-networking/network-policies/. A policy that does not apply to a
direction says nothing about it. A policy that applies allows what its rules name, and everything by an empty one, to
and from the pods that it selects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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


def _meets(policy: JSONObject | None, label: str, value: str | None) -> bool:
    """Return whether a label with a value, or None for no label, meets what a policy demands of its pods there."""
    selector = get_at(policy, ("spec", "podSelector"), None) or {}
    named = [one for one in selector.get("matchExpressions") or () if one["key"] == label]
    return (selector.get("matchLabels") or {}).get(label, value) == value and all(
        {"In": value in among, "NotIn": value not in among, "Exists": value is not None}.get(how, value is None)
        for how, among in ((one["operator"], one.get("values") or ()) for one in named)
    )


def _list_values(*policies: JSONObject | None) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Yield each label that selectors name, with its values to try: those that they name, another one, and none."""
    found: dict[str, set[str]] = {}
    for policy in policies:
        selector = get_at(policy, ("spec", "podSelector"), None) or {}
        for label, value in (selector.get("matchLabels") or {}).items():
            found.setdefault(label, set()).add(value)
        for one in selector.get("matchExpressions") or ():
            found.setdefault(one["key"], set()).update(one.get("values") or ())
    yield from ((label, (*sorted(values), "another value", None)) for label, values in found.items())


def _matches_alone(one: JSONObject | None, other: JSONObject | None) -> bool:
    """Return whether there may be a pod that one policy selects and another one does not."""
    tried = [
        [(value, _meets(other, label, value)) for value in values if _meets(one, label, value)]
        for label, values in _list_values(one, other)
    ]
    return all(tried) and any(not is_met for values in tried for _value, is_met in values)


def _restricts(direction: str, policy: JSONObject | None) -> bool:
    return _measure(direction, policy) in (Traffic.NONE, Traffic.SOME)


def _frees_pods(direction: str, live: JSONObject | None, result: JSONObject) -> bool:
    return live is not None and _restricts(direction, live) and _matches_alone(live, result)


def _binds_pods(direction: str, live: JSONObject | None, result: JSONObject) -> bool:
    return live is not None and _restricts(direction, result) and _matches_alone(result, live)


def _either(*judges: Judge) -> Judge:
    return lambda direction, live, result: any(judge(direction, live, result) for judge in judges)


def _has_idle_rules(direction: str, _live: JSONObject | None, result: JSONObject) -> bool:
    has_rules = bool(get_at(result, ("spec", direction), None))
    return has_rules and _measure(direction, result) is Traffic.UNSAID


CHANGES: Mapping[str, Judge] = {
    "open-policy": _moves((Traffic.UNSAID, Traffic.NONE, Traffic.SOME), Traffic.ALL, is_live=False),
    "restricts-less": _either(_moves((Traffic.NONE, Traffic.SOME), Traffic.UNSAID), _frees_pods),
    "restricts-more": _either(_moves((Traffic.UNSAID,), Traffic.SOME), _binds_pods),
    "allows-nothing": _moves((Traffic.UNSAID, Traffic.SOME, Traffic.ALL), Traffic.NONE),
    "rules-without-effect": _has_idle_rules,
}
"""The risks of a NetworkPolicy: whether each holds for a direction, the live policy and the written one."""
