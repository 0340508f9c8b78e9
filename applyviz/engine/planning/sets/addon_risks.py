"""Find the risks of an addon of a kOps channel: kOps skips it, or its update needs a rolling update of nodes.

Rule: the choice of kOps (`engine/channels/choosing.py`): a lower version, another version of Kubernetes and an addon
that is there already are skipped. The next run of kOps compares the record anew, and may bring the former one back.
At an update kOps marks nodes with an annotation, and its rolling update replaces them; applyviz marks them by choice.
"""

from __future__ import annotations

from applyviz.engine.channels.model import AddonPlan, AddonReason, AddonRecord
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.addons import ADDON_SKIPPED, NEEDS_ROLLING_UPDATE


def find_skipped(one: AddonPlan | None, kubernetes: str) -> tuple[Risk, ...]:
    """Return the risk of each object of an addon that kOps skips; none for an addon that kOps applies.

    - `kubernetes`: the version of the server.
    """
    if one is None or not one.is_anyway:
        return ()
    installed = one.installed or AddonRecord()
    facts = {
        "addon": one.addon.name,
        "rule": one.reason.value,
        "range": one.addon.kubernetes_version,
        "kubernetes": kubernetes,
        "offered": one.addon.version,
        "installed": installed.version,
    }
    # What is there already is only applied again.
    level = RiskLevel.MEDIUM if one.reason is AddonReason.SAME else RiskLevel.HIGH
    return (ADDON_SKIPPED.at(facts=facts, level=level),)


def find_rolling(one: AddonPlan | None) -> tuple[Risk, ...]:
    """Return the risk of an addon whose update needs a rolling update of nodes; its record carries it."""
    if one is None or not one.marks_nodes or one.nodes == ():
        return ()
    named = ", ".join(one.nodes or ())
    more = f" and {one.more_nodes} more" if one.more_nodes else ""
    facts = {
        "addon": one.addon.name,
        "group": one.addon.needs_rolling_update,
        "nodes": named + more,
        "marked": "yes" if one.marked else "",
    }
    return (NEEDS_ROLLING_UPDATE.at(facts=facts),)
