"""Risks for pods that a plan does not touch: old values that they keep, evictions that wait forever.

Rule: environment variables and `subPath` mounts are read when a container starts
(https://kubernetes.io/docs/concepts/configuration/configmap/); a PodDisruptionBudget allows as many evictions as there
are pods above `minAvailable`, or `maxUnavailable`, percentages rounded up
(https://kubernetes.io/docs/tasks/run-application/configure-pdb/).
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.shares import scale_share
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.graph.plan_references import GraphSnapshot, PlanReferences, find_result
from applyviz.engine.planning.graph.reference_risks import show
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.engine.references.model import Key, ReferenceKind
from applyviz.engine.references.reading import map_at
from applyviz.engine.references.resolving import Edge
from applyviz.engine.risks.model import Risk
from applyviz.engine.risks.planning.pods import NO_EVICTION, STALE_PODS, UNREAD_KEY
from applyviz.engine.risks.reference_reads import READERS
from applyviz.engine.risks.restarts import PODS_RESTART

_RUNNING = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Pod"))
_SCALED = frozenset(("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"))
_CONFIGURATION = frozenset((("", "ConfigMap"), ("", "Secret")))
_REPLACED = (Operation.CREATE, Operation.REPLACE, *DELETIONS)
_MOST_NAMES = 3


def list_changed_keys(change: PlannedObject) -> tuple[str, ...]:
    """Return the entries of a ConfigMap or a Secret whose values change, sorted by name."""
    before, after = change.versions.live or {}, find_result(change) or {}
    parts = ("data", "binaryData", "stringData")
    pairs = [(map_at(before, part), map_at(after, part)) for part in parts]
    return tuple(sorted({name for old, new in pairs for name in {**old, **new} if old.get(name) != new.get(name)}))


def _restarts(around: PlanReferences, key: Key) -> bool:
    change = around.find_change(key)
    if change is None:
        return False
    return change.operation in _REPLACED or any(risk.kind is PODS_RESTART for risk in change.risks)


def is_stale(edge: Edge, around: PlanReferences, changed: tuple[str, ...]) -> bool:
    """Return whether running pods keep an old value of what an edge reads; `changed` are the keys that change."""
    if not edge.mode.is_read_once or edge.source[1] not in _RUNNING or not (edge.key in changed or not edge.key):
        return False
    obj = around.after.objects[edge.source]
    return get_at(obj, ("spec", "replicas"), 1) != 0 and not _restarts(around, edge.source)


def _list_some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def find_stale(around: PlanReferences, incoming: dict[Key, list[Edge]]) -> Iterator[tuple[Key, Risk]]:
    """Yield ConfigMaps and Secrets whose new values running pods do not see, and changed keys that nothing reads."""
    for key, position in around.changes.items():
        change = around.planned[position]
        if key[:2] not in _CONFIGURATION or change.operation not in (Operation.UPDATE, Operation.REPLACE):
            continue
        changed = list_changed_keys(change)
        readers = [edge for edge in incoming.get(key, ()) if edge.mode]
        stale = [edge for edge in readers if changed and is_stale(edge, around, changed)]
        if stale:
            keys = {name for edge in stale for name in ((edge.key,) if edge.key else changed)}
            workloads = list(dict.fromkeys(show(edge.source) for edge in stale))
            facts = {
                "workloads": _list_some(workloads),
                "count": str(len(workloads)),
                "keys": _list_some(sorted(keys)),
            }
            yield key, STALE_PODS.at(fields("data"), facts)
        unread = [name for name in changed if all(edge.key and edge.key != name for edge in readers)]
        if unread and readers and key[1] == "ConfigMap" and around.knowledge.knows_all(READERS, key[2]):
            facts = {"keys": _list_some(unread), "count": str(len(unread))}
            yield key, UNREAD_KEY.at(fields("data"), facts)


def count_evictions(budget: JSONObject, pods: int) -> int | None:
    """Return how many healthy pods a budget allows to evict at once; None if it does not say."""
    available = scale_share(get_at(budget, ("spec", "minAvailable")), pods, is_rounded_up=True)
    if available is not None:
        return max(0, pods - available)
    return scale_share(get_at(budget, ("spec", "maxUnavailable")), pods, is_rounded_up=True)


def _count_pods(workload: Key, moment: GraphSnapshot, incoming: dict[Key, list[Edge]]) -> int | None:
    """Return the number of pods of a workload, at least its autoscaler's minimum; None if its kind has none."""
    if workload[1] not in _SCALED:
        return None
    counts = [get_at(moment.objects[workload], ("spec", "replicas"), 1)]
    for edge in incoming.get(workload, ()):
        if edge.kind is ReferenceKind.SCALE_TARGET:
            counts.append(get_at(moment.objects[edge.source], ("spec", "minReplicas"), 1))
    return max((count for count in counts if isinstance(count, int)), default=None)


def _judge(budget: Key, moment: GraphSnapshot, incoming: dict[Key, list[Edge]]) -> tuple[int, list[Key]] | None:
    """Return how many pods a budget keeps from being evicted at all, and whose; None when it lets some go."""
    obj = moment.objects.get(budget)
    if obj is None:
        return None
    targets = [e.target for e in moment.edges[budget] if e.target in moment.objects]
    counts = [_count_pods(target, moment, incoming) for target in targets]
    pods = sum(count or 0 for count in counts)
    if not pods or None in counts or count_evictions(obj, pods) != 0:
        return None
    return pods, targets


def find_blocked_evictions(around: PlanReferences, incoming: dict[Key, list[Edge]]) -> Iterator[tuple[Key, Risk]]:
    """Yield budgets that allow no eviction after the plan, but did before; on the budget, else on the workloads."""
    earlier = around.before.list_incoming()
    for budget in around.after.objects:
        if budget[1] != "PodDisruptionBudget":
            continue
        found = _judge(budget, around.after, incoming)
        if found is None or _judge(budget, around.before, earlier) is not None:
            continue
        pods, workloads = found
        facts = {"budget": show(budget), "pods": str(pods), "workloads": _list_some([show(key) for key in workloads])}
        risk = NO_EVICTION.at(facts=facts)
        if around.is_written(budget):
            yield budget, risk
        else:
            yield from ((key, risk) for key in workloads if around.is_written(key))
