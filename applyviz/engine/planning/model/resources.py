"""Sum the requests and limits of the pods of a plan, per namespace, before and after.

Rule: a pod requests the larger of the sum of its containers (with init containers that keep running) and its largest
init container, https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers.
A workload counts its replicas; a DaemonSet the pods that its live status wants. Left out: Jobs, overhead, autoscalers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject

RESOURCES = ("cpu", "memory")
_KINDS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Pod")
_NOT_WRITTEN = (Operation.BLOCKED, Operation.ERROR)
_FACTORS = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1), "k": Decimal(10**3),
    "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}  # fmt: skip
Amounts = dict[tuple[str, str], Decimal]


@dataclass(frozen=True, slots=True)
class ResourceSum:
    """One resource of one namespace; `bound` is `requests` or `limits`; CPU in cores, memory in bytes, as text."""

    namespace: str
    bound: str
    resource: str
    before: str
    after: str


def read_amount(value: JSONValue) -> Decimal:
    """Return a quantity as a number; 0 for a value that is none."""
    text = str(value)
    unit = next((u for u in sorted(_FACTORS, key=len, reverse=True) if u and text.endswith(u)), "")
    try:
        return Decimal(text.removesuffix(unit)) * _FACTORS[unit]
    except InvalidOperation:
        return Decimal(0)


def _list_containers(spec: Mapping[str, Any], group: str) -> Iterator[Mapping[str, Any]]:
    found = spec.get(group)
    yield from (c for c in (found if isinstance(found, list) else ()) if isinstance(c, Mapping))


def _sum_pod(spec: Mapping[str, Any], bound: str, resource: str) -> Decimal:
    def amount(container: Mapping[str, Any]) -> Decimal:
        return read_amount(get_at(dict(container), ("resources", bound, resource), "0"))

    starting = [c for c in _list_containers(spec, "initContainers") if c.get("restartPolicy") != "Always"]
    staying = [c for c in _list_containers(spec, "initContainers") if c.get("restartPolicy") == "Always"]
    running = sum((amount(c) for c in (*_list_containers(spec, "containers"), *staying)), Decimal(0))
    return max([running, *(amount(c) for c in starting)])


def _count_pods(kind: str, obj: JSONObject, live: JSONObject | None) -> int:
    if kind == "Pod":
        return 1
    if kind == "DaemonSet":
        found = get_at(live, ("status", "desiredNumberScheduled"), 0)
    else:
        found = get_at(obj, ("spec", "replicas"), 1)
    return found if isinstance(found, int) else 1


def _sum_object(kind: str, obj: JSONObject | None, live: JSONObject | None) -> Amounts:
    spec = get_at(obj, ("spec",) if kind == "Pod" else ("spec", "template", "spec"))
    if obj is None or not isinstance(spec, Mapping):
        return {}
    pods = _count_pods(kind, obj, live)
    return {(b, r): pods * _sum_pod(spec, b, r) for b in ("requests", "limits") for r in RESOURCES}


def _write(amount: Decimal) -> str:
    return format(amount.normalize(), "f")


def sum_resources(changes: Iterable[PlannedObject]) -> tuple[ResourceSum, ...]:
    """Return the sums of all workloads in a plan by namespace; resources that nothing names are left out."""
    before: dict[tuple[str, str, str], Decimal] = {}
    after: dict[tuple[str, str, str], Decimal] = {}
    for change in changes:
        kind = change.ref.gvk.kind
        if kind not in _KINDS:
            continue
        live = change.versions.live
        then = live if change.operation in _NOT_WRITTEN else change.versions.after
        then = None if change.operation is Operation.PRUNE else then
        for sums, obj in ((before, live), (after, then)):
            for (bound, resource), amount in _sum_object(kind, obj, live).items():
                place = (change.ref.namespace, bound, resource)
                sums[place] = sums.get(place, Decimal(0)) + amount
    places = sorted(before.keys() | after.keys(), key=lambda p: (p[0], p[1] != "requests", p[2]))
    rows = ((*p, before.get(p, Decimal(0)), after.get(p, Decimal(0))) for p in places)
    return tuple(ResourceSum(n, b, r, _write(x), _write(y)) for n, b, r, x, y in rows if x or y)
