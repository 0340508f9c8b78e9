"""The addons of a kOps channel: what kOps would not do; found in `applyviz/engine/planning`."""

from __future__ import annotations

from applyviz.engine.channels.sentences import NODE_GROUPS
from applyviz.engine.risks.model import Facts, RiskKind, RiskLevel, Templates

_AGAIN = "The next run of kOps may change it again."


def _describe_skipped(f: Facts) -> Templates:
    """Return why kOps skips an addon that is planned."""
    match f["rule"]:
        case "lower-version":
            return ("Addon {addon} goes from version {installed} back to {offered}, which kOps never does.", _AGAIN)
        case "newer-generation":
            return ("A newer version of kOps installed addon {addon}, and this one would skip it.", _AGAIN)
        case "other-kubernetes":
            return ("Addon {addon} is for Kubernetes {range}, and the server runs {kubernetes}: kOps skips it.",)
        case "unreadable-range":
            return ("Addon {addon} is for Kubernetes {range}, which is no range: kOps skips it.",)
    return ("Addon {addon} is installed with the same id and manifest: kOps skips it.",)


def _describe_roll(f: Facts) -> Templates:
    """Return which nodes an update needs replaced; `nodes` is empty where they could not be read."""
    need = f"The update of addon {{addon}} needs a rolling update of {NODE_GROUPS[f['group']]}"
    named = need + (": {nodes}." if f["nodes"] else ".")
    if f["marked"]:
        return (named, "The plan marks them, and the next rolling update of kOps replaces them with their pods.")
    return (named, "kOps marks them for it, applyviz does not: roll them yourself.")


ADDON_SKIPPED = RiskKind(
    "addon-skipped", "Addon that kOps skips", _describe_skipped, level=RiskLevel.HIGH, policy_order=220
)
NEEDS_ROLLING_UPDATE = RiskKind("needs-rolling-update", "Needs a rolling update", _describe_roll)
