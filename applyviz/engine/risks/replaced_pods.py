"""Pods of an object that is deleted and created again: how many stop with it, and how many new ones start.

Rule: the garbage collector deletes the pods of a deleted owner, and the new object starts its own, whatever its update
strategy says. Deletion with orphans keeps them: a workload adopts those that its selector matches, and replaces them
where their template is another (https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents).
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.selectors import read_selector
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.restarts import PODS_RESTART, count_pods, is_workload

_LABELS = ("spec", "template", "metadata", "labels")
_SCALED = (("apps", "ReplicaSet"), ("", "ReplicationController"))
_POD, _JOB = ("", "Pod"), ("batch", "Job")
_ENDED = ("Succeeded", "Failed")


def is_adopting(ref: ObjectRef, live: JSONObject, result: JSONObject) -> bool:
    """Return whether the new workload adopts the pods that the deleted one leaves behind."""
    selector = read_selector(get_at(result, ("spec", "selector")))
    is_adopter = is_workload(ref) or ref.key[:2] in _SCALED
    return is_adopter and selector is not None and selector.matches(get_at(live, _LABELS) or {})


def _count(ref: ObjectRef, obj: JSONObject) -> int | None:
    """Return the number of running or desired pods of an object; None if unknown."""
    key = ref.key[:2]
    if is_workload(ref) or key in _SCALED:
        return count_pods(ref.gvk.kind, obj)
    if key == _JOB:
        active = get_at(obj, ("status", "active"), 0)
        return active if isinstance(active, int) else 0
    return int(key == _POD and get_at(obj, ("status", "phase")) not in _ENDED)


def find_replaced(ref: ObjectRef, live: JSONObject, result: JSONObject) -> Iterator[Risk]:
    """Yield the risk of the pods that stop with a deleted object, whose successor starts new ones.

    - An object that wants no pods afterwards restarts none: it is scaled to 0.
    """
    stopped, is_job = _count(ref, live), ref.key[:2] == _JOB
    started = None if is_job or ref.gvk.kind == "DaemonSet" else _count(ref, result)
    if stopped == 0 or started == 0 or (is_job and get_at(result, ("spec", "suspend")) is True):
        return
    facts = {"owner": ref.gvk.kind, "pods": "" if stopped is None else str(stopped)}
    facts |= {} if started is None else {"starts": str(started)}
    facts |= {} if is_job else {"stops": "all"}
    yield PODS_RESTART.at(facts=facts, level=RiskLevel.MEDIUM if is_job else RiskLevel.HIGH)
