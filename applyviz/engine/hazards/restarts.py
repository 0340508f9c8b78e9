"""A change of the pod template replaces pods; a disruption budget may hold that up.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#updating-a-deployment (any change
below `spec.template` starts a rollout) and https://kubernetes.io/docs/concepts/workloads/pods/disruptions/.
Evictions obey budgets, rollouts of a Deployment do not ask them; what a budget holds is told, not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity, Subject
from applyviz.engine.hazards.walking import is_within, position_of
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json

_WORKLOADS = frozenset(("Deployment", "StatefulSet", "DaemonSet"))


def _matches(selector: JSONValue, labels: JSONObject) -> bool:
    if not isinstance(selector, Mapping):
        return False
    wanted = selector.get("matchLabels") or {}
    if not all(labels.get(k) == v for k, v in wanted.items()):
        return False
    return all(_matches_expression(e, labels) for e in selector.get("matchExpressions") or ())


def _matches_expression(expression: JSONObject, labels: JSONObject) -> bool:
    name, values = str(expression.get("key")), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(name) in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
    return False


def _budgets(subject: Subject, labels: JSONObject) -> list[str]:
    names = []
    for obj in subject.neighbours.of_kind("PodDisruptionBudget"):
        ref = ObjectRef.from_object(obj)
        is_here = not ref.namespace or ref.namespace == subject.ref.namespace
        if is_here and _matches(get_at(obj, ("spec", "selector")), labels):
            names.append(ref.name)
    return list(dict.fromkeys(names))


def _is_template_changed(live: JSONValue, result: JSONValue) -> bool:
    # A list that is replaced whole comes without the defaults that the server adds again.
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


def _strategy(subject: Subject) -> str:
    name = "strategy" if subject.ref.gvk.kind == "Deployment" else "updateStrategy"
    return str(get_at(subject.result, ("spec", name, "type"), "RollingUpdate"))


def find(subject: Subject) -> Iterator[Hazard]:
    """Pods that will be replaced, how, and which budgets watch over them."""
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
    labels = get_at(now, ("metadata", "labels")) or {}
    facts = {"pods": str(pods), "strategy": strategy, "budgets": ", ".join(_budgets(subject, labels))}
    severity = Severity.DANGER if strategy == "Recreate" else Severity.WARNING
    position = position_of(subject, ("spec", "template"))
    yield Hazard(HazardKind.PODS_RESTART, severity, fields("spec", "template"), facts, position)
