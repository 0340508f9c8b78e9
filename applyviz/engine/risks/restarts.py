"""A change of the pod template replaces pods.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#updating-a-deployment (any change below
`spec.template` starts a rollout). Left out on purpose: disruption budgets, because they limit evictions and do not
affect rollouts (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONValue, get_at, is_same_json
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.walking import is_within, position_of

_WORKLOADS = frozenset(("Deployment", "StatefulSet", "DaemonSet"))


def _is_template_changed(live: JSONValue, result: JSONValue) -> bool:
    # A list that is replaced whole lacks the defaults that the server will add again.
    if live is result:
        return False
    if isinstance(live, Mapping) and isinstance(result, Mapping):
        return any(
            _is_template_changed(live.get(name), result.get(name))
            for name in dict.fromkeys((*live, *result))
            if (name in live) == (name in result) or live.get(name, result.get(name)) not in (None, {}, [])
        )
    if isinstance(live, list) and isinstance(result, list):
        return not is_within(result, live)
    return not is_same_json(live, result)


def _strategy(subject: RiskSubject) -> str:
    name = "strategy" if subject.ref.gvk.kind == "Deployment" else "updateStrategy"
    return str(get_at(subject.result, ("spec", name, "type"), "RollingUpdate"))


def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk that pods will be replaced, with the strategy."""
    kind, live, result = subject.ref.gvk.kind, subject.live, subject.result
    if kind not in _WORKLOADS or subject.ref.gvk.group != "apps" or live is None or result is None:
        return
    if subject.manifest is None:
        return
    before, now = get_at(live, ("spec", "template")), get_at(result, ("spec", "template"))
    strategy = _strategy(subject)
    if strategy == "OnDelete" or not _is_template_changed(before, now):
        return
    is_daemon = kind == "DaemonSet"
    pods = (
        get_at(live, ("status", "desiredNumberScheduled"), "") if is_daemon else get_at(live, ("spec", "replicas"), 1)
    )
    if pods == 0:
        return
    facts = {"pods": str(pods), "strategy": strategy}
    level = RiskLevel.HIGH if strategy == "Recreate" else RiskLevel.MEDIUM
    position = position_of(subject, ("spec", "template"))
    yield Risk(RiskKind.PODS_RESTART, level, fields("spec", "template"), facts, position)
