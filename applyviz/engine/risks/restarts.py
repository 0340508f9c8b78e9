"""A change of the pod template replaces pods, unless they wait; what ends their wait replaces them too.

Rules: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#updating-a-deployment (any change below
`spec.template` starts a rollout) and #pausing-and-resuming-a-rollout-of-a-deployment; partition and OnDelete:
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies. Left out on purpose:
disruption budgets, because they limit evictions and do not affect rollouts
(https://kubernetes.io/docs/concepts/workloads/pods/disruptions/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from applyviz.engine.objects.ordinals import find_common, read_ordinals
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.shares import scale_share
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import is_within, position_of, respell, root_of

# By kind, the defaults of maxSurge and maxUnavailable.
_DEFAULTS: Final[Mapping[str, tuple[JSONValue, JSONValue]]] = {
    "Deployment": ("25%", "25%"),
    "StatefulSet": (0, 1),
    "DaemonSet": (0, 1),
}
_TEMPLATE: Final = ("spec", "template")


_RELEASED = {
    "": "because the pod template changes",
    "paused": "because the rollout is resumed",
    "on-delete": "because the update strategy is no longer OnDelete",
    "partition": "because the partition is lowered",
}
_WAITS = {
    "paused": "The pod template changes, but the Deployment is paused: {who} the old template until it is resumed.",
    "on-delete": (
        "The pod template changes, but the update strategy is OnDelete: {who} the old template until deleted."
    ),
    "partition": "The pod template changes, but the partition is {partition}: {who} the old template.",
}


def _count_pods(pods: str, one: str, many: str) -> str:
    if not pods:
        return f"All pods {many}"
    return f"1 pod {one}" if pods == "1" else f"{pods} pods {many}"


def _describe_new(f: Facts) -> Templates:
    """Return the sentence about pods that stop with an object that is deleted and created again."""
    if f["owner"] == "Pod":
        return ("The pod stops, and a new one starts: no pod runs until the new one is ready.",)
    stop = _count_pods(f.get("pods", ""), "stops", "stop") + " with the deleted {owner}, and "
    if f["owner"] == "Job":
        return (stop + "the new one runs from the beginning.",)
    started = {"": "new ones start", "1": "1 new one starts"}
    start = started.get(f.get("starts", ""), "{starts} new ones start")
    if f["owner"] == "DaemonSet":
        return (stop + start + ": on every node, no pod runs until the new one is ready.",)
    return (stop + start + ": no pod runs until the first new one is ready.",)


def _describe_restart(f: Facts) -> Templates:
    """Return the sentences about pods that restart: how many, why, in which order, and which do not."""
    if "owner" in f:
        return _describe_new(f)
    restarts = f"{_count_pods(f.get('pods', ''), 'restarts', 'restart')} {_RELEASED[f.get('released', '')]}: "
    if f.get("strategy") == "Recreate":
        return (restarts + "all pods stop before new ones start (strategy Recreate).",)
    if f.get("stops"):
        return (restarts + "no pod runs until the first new one is ready.",)
    if f.get("nodes"):
        return (restarts + "rolling update; on every node the old pod stops before the new one starts.",)
    kept = _count_pods(f["kept"], "keeps", "keep") + " the old template (partition)." if "kept" in f else ""
    rolls = "rolling update, on every node." if f.get("each") == "node" else "rolling update."
    return (restarts + rolls, *((kept,) if kept else ()))


def _describe_wait(f: Facts) -> Templates:
    """Return the sentence about pods that keep the old template, and until when."""
    who = _count_pods(f["pods"], "keeps", "keep")
    return (_WAITS[f["awaits"]].replace("{who}", who[0].lower() + who[1:]),)


PODS_RESTART = RiskKind("pods-restart", "Pods restart", _describe_restart, loud_title="Downtime", policy_order=200)
TEMPLATE_WAITS = RiskKind("template-waits", "Pods keep the old template", _describe_wait, level=RiskLevel.INFO)


class UpdateRules(Struct, frozen=True):
    """The update rules of a workload, from its spec.

    - `strategy`: of its updates; `is_paused`: of a Deployment; `partition`: of a StatefulSet, the number of pods that a
      rolling update leaves alone; `surge` and `unavailable`: numbers or percentages.
    - `new`: how many of the pods that the partition counts are new, because the numbers of a StatefulSet begin lower.
    """

    kind: str
    strategy: str
    surge: JSONValue
    unavailable: JSONValue
    is_paused: bool = False
    partition: int = 0
    new: int = 0

    @property
    def awaits(self) -> str:
        """Return why pods keep the old template: "paused", "on-delete", "partition" or ""."""
        if self.is_paused:
            return "paused"
        if self.strategy == "OnDelete":
            return "on-delete"
        return "partition" if self.partition > self.new else ""

    def count_kept(self, pods: int) -> int:
        """Return how many of the pods keep the old template."""
        return pods if self.awaits in ("paused", "on-delete") else min(max(self.partition - self.new, 0), pods)

    @property
    def stops_first(self) -> bool:
        """Return whether each pod of a DaemonSet stops before the new one of its node starts."""
        return self.kind == "DaemonSet" and not scale_share(self.surge, 100, is_rounded_up=True)

    def stops_all(self, pods: int) -> bool:
        """Return whether an update of so many wanted pods may leave none running: all stop first, or as many.

        A StatefulSet and a DaemonSet without surge replace pods after they have stopped, at least one at once. A
        Deployment may stop one pod where both amounts are zero. It rounds `maxUnavailable` down, as a StatefulSet
        does; a DaemonSet rounds it up.
        """
        if self.strategy == "Recreate":
            return True
        if not pods or self.count_kept(pods) or (self.kind == "DaemonSet" and not self.stops_first):
            return False
        unavailable = scale_share(self.unavailable, pods, is_rounded_up=self.kind == "DaemonSet") or 0
        surge = scale_share(self.surge, pods, is_rounded_up=True) or 0
        is_stopping_one = self.kind != "Deployment" or surge == unavailable == 0
        return max(unavailable, int(is_stopping_one)) >= pods


def read_update_rules(kind: str, obj: JSONObject) -> UpdateRules:
    """Return how a Deployment, StatefulSet or DaemonSet replaces its pods."""
    strategy = "strategy" if kind == "Deployment" else "updateStrategy"
    rolling = ("spec", strategy, "rollingUpdate")
    partition = get_at(obj, (*rolling, "partition")) if kind == "StatefulSet" else 0
    amounts = (get_at(obj, (*rolling, name)) for name in ("maxSurge", "maxUnavailable"))
    surge, unavailable = (given if given is not None else _DEFAULTS[kind][n] for n, given in enumerate(amounts))
    return UpdateRules(
        kind,
        str(get_at(obj, ("spec", strategy, "type"), "RollingUpdate")),
        surge,
        unavailable,
        is_paused=kind == "Deployment" and get_at(obj, ("spec", "paused")) is True,
        partition=partition if isinstance(partition, int) else 0,
    )


def is_workload(ref: ObjectRef) -> bool:
    """Return whether an object replaces its pods when its pod template changes."""
    return ref.gvk.group == "apps" and ref.gvk.kind in _DEFAULTS


def count_pods(kind: str, live: JSONObject) -> int | None:
    """Return how many pods a live workload wants; None while a DaemonSet does not say so."""
    path = ("status", "desiredNumberScheduled") if kind == "DaemonSet" else ("spec", "replicas")
    found = get_at(live, path, None if kind == "DaemonSet" else 1)
    return found if isinstance(found, int) else None


def _count_staying(kind: str, live: JSONObject, result: JSONObject) -> int | None:
    """Return how many live pods a workload still wants afterwards: controllers scale down before they replace pods."""
    pods = count_pods(kind, live)
    if kind == "StatefulSet" and pods is not None:
        return len(find_common(read_ordinals(live), read_ordinals(result)))
    return pods if pods is None or kind == "DaemonSet" else min(pods, count_pods(kind, result) or 0)


def _read_rules_for(kind: str, live: JSONObject, result: JSONObject) -> UpdateRules:
    """Return the update rules of a workload afterwards, for the pods that it has."""
    rules = read_update_rules(kind, result)
    if kind != "StatefulSet":
        return rules
    return replace(rules, new=max(read_ordinals(live).start - read_ordinals(result).start, 0))


def _is_template_changed(live: JSONValue, result: JSONValue, *, is_merge_only: bool) -> bool:
    """Return whether a template differs for the controller, to which an absent and an empty list are the same.

    - A section that the server keeps empty, such as `affinity: {}`, differs from none: it is a pointer in Go, and the
      controller compares pointers.
    - `is_merge_only`: a merge has empty values that the server will drop, and a list that it replaces whole lacks the
      defaults that the server will add again.
    """
    if live is result:
        return False
    nothing: tuple[JSONValue, ...] = (None, [], {}) if is_merge_only else (None, [])
    if isinstance(live, Mapping) and isinstance(result, Mapping):
        return any(
            _is_template_changed(live.get(name), result.get(name), is_merge_only=is_merge_only)
            for name in dict.fromkeys((*live, *result))
            if (name in live) == (name in result) or live.get(name, result.get(name)) not in nothing
        )
    if isinstance(live, list) and isinstance(result, list):
        if is_merge_only:
            return not is_within(result, live)
        return len(live) != len(result) or any(
            _is_template_changed(old, new, is_merge_only=False) for old, new in zip(live, result, strict=True)
        )
    return not is_same_json(live, result)


def _count_outdated(kind: str, live: JSONObject, pods: int | None) -> int:
    """Return how many live pods have another template than the live spec: what waited."""
    name = "updatedNumberScheduled" if kind == "DaemonSet" else "updatedReplicas"
    updated = get_at(live, ("status", name), 0)
    is_observed = get_at(live, ("status", "observedGeneration")) is not None
    return max((pods or 0) - updated, 0) if is_observed and isinstance(updated, int) else 0


def _find_released(kind: str, live: JSONObject, result: JSONObject, pods: int | None) -> int:
    """Return how many pods restart, without a change of the template, because they no longer wait."""
    before, now = read_update_rules(kind, live), _read_rules_for(kind, live, result)
    if not before.awaits or pods is None or now.count_kept(pods) >= before.count_kept(pods):
        return 0
    return max(_count_outdated(kind, live, pods) - now.count_kept(pods), 0)


def _describe(subject: RiskSubject, rollout: UpdateRules, pods: int | None, facts: Mapping[str, str]) -> Risk:
    level = RiskLevel.HIGH if rollout.strategy == "Recreate" else RiskLevel.MEDIUM
    wanted = pods if rollout.kind == "DaemonSet" else count_pods(rollout.kind, subject.result or {})
    stops = {"stops": "all"} if rollout.stops_all(wanted or 0) else {"nodes": "in turn"} if rollout.stops_first else {}
    on = {"each": "node"} if rollout.kind == "DaemonSet" else {}
    found = {**facts, "strategy": rollout.strategy, **stops, **on}
    return PODS_RESTART.at(fields(*_TEMPLATE), found, position_of(subject, _TEMPLATE), level=level)


@rule(240)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk that pods will be replaced, with the strategy, or that they keep the old template."""
    kind, live, result = subject.ref.gvk.kind, subject.live, subject.result
    if not is_workload(subject.ref) or live is None or result is None or subject.manifest is None:
        return
    pods, rollout = _count_staying(kind, live, result), _read_rules_for(kind, live, result)
    if pods == 0:
        return
    is_merge_only = subject.is_merge_only or subject.after is None
    # A Deployment compares amounts; a StatefulSet and a DaemonSet compare how they are written.
    known = respell(result, live, root_of(subject)) if kind == "Deployment" else result
    if not _is_template_changed(get_at(live, _TEMPLATE), get_at(known, _TEMPLATE), is_merge_only=is_merge_only):
        released = _find_released(kind, live, result, pods)
        if released:
            awaited = read_update_rules(kind, live).awaits
            yield _describe(subject, rollout, pods, {"pods": str(released), "released": awaited})
        return
    kept, wanted = rollout.count_kept(pods) if pods is not None else 0, "" if pods is None else str(pods)
    if rollout.awaits in ("paused", "on-delete") or (pods is not None and kept == pods):
        facts = {"pods": wanted, "awaits": rollout.awaits, "partition": str(rollout.partition)}
        yield TEMPLATE_WAITS.at(fields(*_TEMPLATE), facts, position_of(subject, _TEMPLATE))
        return
    facts = {"pods": wanted if pods is None else str(pods - kept), **({"kept": str(kept)} if kept else {})}
    yield _describe(subject, rollout, pods, facts)


def count_restarting(ref: ObjectRef, live: JSONObject) -> int:
    """Return how many pods of a live workload restart when a field of its pod template changes; 0 for other objects."""
    if not is_workload(ref):
        return 0
    pods = count_pods(ref.gvk.kind, live) or 0
    return pods - read_update_rules(ref.gvk.kind, live).count_kept(pods)
