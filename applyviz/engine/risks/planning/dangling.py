"""References and selectors that lead nowhere; found in `applyviz/engine/planning`."""

from __future__ import annotations

from applyviz.engine.risks.model import Facts, RiskKind, RiskLevel, Templates

_LEFT = {
    "yes": "it does not change in the cluster.",
    "no": "it does not exist in the cluster.",
    "": "whether it exists in the cluster is unknown.",
}

_EFFECTS = {
    "start": ": its pods cannot start.",
    "create": ": its pods cannot be created.",
    "pending": ": its pods stay pending.",
    "pull": ": images that need it cannot be pulled.",
    "requests": ": requests to it fail.",
    "call": ": the API server cannot call it.",
    "rights": ": the binding gives it no permissions.",
    "scale": ": nothing is scaled.",
    "budget": ": it protects no pod.",
    "policy": ": it applies to no pod.",
}


def _describe_dangling(f: Facts) -> Templates:
    if f.get("removed"):
        made = "; {maker} may create it again." if f.get("maker") else _EFFECTS[f["effect"]]
        return ("{source} refers to {target}, which this plan deletes" + made,)
    if f.get("maker"):
        return ("{source} refers to {target}, which does not exist yet; {maker} may create it.",)
    return ("{source} refers to {target}, which does not exist" + _EFFECTS[f["effect"]],)


DANGLING_REFERENCE = RiskKind(
    "dangling-reference", "Referenced object is missing", _describe_dangling, level=RiskLevel.HIGH, policy_order=180
)
MISSING_KEY = RiskKind(
    "missing-key",
    "Referenced key is missing",
    "{source} reads key {key} of {target}, which has no such key: its pods cannot start.",
    level=RiskLevel.HIGH,
)
MISSING_PORT = RiskKind(
    "missing-port",
    "Referenced port is missing",
    lambda f: ("{source} leads to port {key} of {target}, which has no such port" + _EFFECTS[f["effect"]],),
)
MATCHES_NOTHING = RiskKind(
    "matches-nothing",
    "Selector matches no pod",
    lambda f: (
        "{source} selects {selector}, and no pod of this set or of the cluster matches" + _EFFECTS[f["effect"]],
    ),
)
REFERS_TO_LEFT_OUT = RiskKind(
    "left-out-reference",
    "Refers to an object that is left out",
    lambda f: ("{kind} {name} refers to {target}, which is left out: " + _LEFT[f["exists"]],),
    level=RiskLevel.HIGH,
    policy_order=40,
)
