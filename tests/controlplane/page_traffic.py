"""Judge the risks about traffic: what NetworkPolicies allow, whom a Service reaches, and who serves an Ingress."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from applyviz.engine.objects.values import JSONValue, get_at
from applyviz.engine.risks.model import Risk
from tests.controlplane.pages import Told
from tests.controlplane.takeover import JSONObject


def _applies(policy: JSONObject | None, risk: Risk) -> bool:
    """Whether a stored NetworkPolicy applies to the direction that a risk names."""
    return risk.facts["direction"].capitalize() in get_at(policy, ("spec", "policyTypes"), ())


def _rules(policy: JSONObject | None, risk: Risk) -> list[JSONValue]:
    """The rules of a stored NetworkPolicy for the direction that a risk names."""
    found = get_at(policy, ("spec", risk.facts["direction"]))
    return found if isinstance(found, list) else []


def _selects_others(told: Told) -> bool:
    """Whether a stored NetworkPolicy has another selector of pods than before."""
    before, after = (get_at(one, ("spec", "podSelector"), {}) for one in (told.before, told.after))
    return not told.is_new and before != after


TRAFFIC: Mapping[str, Callable[[Told, Risk], bool]] = {
    "open-policy": lambda told, risk: _applies(told.after, risk) and {} in _rules(told.after, risk),
    "allows-nothing": lambda told, risk: _applies(told.after, risk) and not _rules(told.after, risk),
    "restricts-more": lambda told, risk: (
        _selects_others(told)
        if "direction" not in risk.facts
        else _applies(told.after, risk) and not _applies(told.before, risk) and {} not in _rules(told.after, risk)
    ),
    "rules-without-effect": lambda told, risk: not _applies(told.after, risk) and bool(_rules(told.after, risk)),
    "restricts-less": lambda told, risk: (
        _selects_others(told)
        if "direction" not in risk.facts
        else _applies(told.before, risk) and not _applies(told.after, risk)
    ),
    "endpoints-stay": lambda told, risk: (
        bool(get_at(told.before, ("spec", "selector"))) and not get_at(told.after, ("spec", "selector"))
    ),
    "endpoints-replaced": lambda told, risk: (
        not get_at(told.before, ("spec", "selector")) and bool(get_at(told.after, ("spec", "selector")))
    ),
    "class-changes": lambda told, risk: not told.is_new and not told.fact(risk.path).is_same,
}
"""The claim about an object that each of these kinds of risks makes."""
