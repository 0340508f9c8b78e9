"""Risks of a whole plan, from its policy and the commits of its branch: found by `applyviz/workflow/policies`."""

from __future__ import annotations

from applyviz.engine.risks.model import Facts, RiskKind, RiskLevel, Templates


def _describe_many(f: Facts) -> Templates:
    found = "{count} objects change in one run; the policy limit for a large change is {limit}."
    return (found, "Secrets count as changed; unchanged ones: {unsure}.") if f.get("unsure") else (found,)


MANY_OBJECTS = RiskKind(
    "many-objects", "Large change", _describe_many, level=RiskLevel.HIGH, policy_order=230, is_of_plan=True
)
UNKNOWN_EDITORS = RiskKind(
    "unknown-editors",
    "Unknown editors",
    "No account matches these editors of the commits: {who}.",
    level=RiskLevel.HIGH,
    is_of_plan=True,
)
