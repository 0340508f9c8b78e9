"""Sum the requests and limits of the pods of a plan, per namespace, before and after.

Rule: a pod requests the larger of the sum of its containers (with init containers that keep running) and its largest
init container, https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers.
A workload counts its replicas; a DaemonSet the pods that its live status wants. A container that sets only a limit
requests as much; a LimitRange sets what is left out. Left out: Jobs, overhead, autoscalers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, Context, Decimal

from msgspec import Struct

from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.quantities import BINARY, read_amount
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.risks.quota_reads import WORKLOADS

RESOURCES = ("cpu", "memory")
NOT_WRITTEN = (Operation.BLOCKED, Operation.ERROR, Operation.LEFT_OUT, Operation.NOT_FOUND)
Amounts = dict[tuple[str, str], Decimal]
Defaults = Mapping[tuple[str, str], Decimal]
"""The amounts of a container that sets none, as LimitRanges of a namespace say: of `requests` and of `limits`."""
PODS = ("pods", "pods")
_BOUNDS = ("requests", "limits")
# Quantities beyond are none: nothing has as much, and their digits fill a page.
_MOST_EXPONENT = 400
_ALL_DIGITS = Context(prec=3 * _MOST_EXPONENT)


class ResourceSum(Struct, frozen=True):
    """One resource of one namespace; `bound` is `requests` or `limits`; CPU in cores, memory in bytes, as text."""

    namespace: str
    bound: str
    resource: str
    before: str
    after: str


def count_amount(value: JSONValue) -> Decimal:
    """Return a quantity as a number; 0 for a value that is none."""
    found = read_amount(value)
    return found if found is not None and abs(found.adjusted()) < _MOST_EXPONENT else Decimal(0)


def round_amount(amount: Decimal, step: str) -> Decimal:
    """Return an amount rounded to a multiple of a step, such as `0.01`, however many digits it has."""
    return amount.quantize(Decimal(step), context=_ALL_DIGITS)


def _list_containers(spec: JSONObject, group: str) -> Iterator[JSONObject]:
    found = spec.get(group)
    yield from (c for c in (found if isinstance(found, list) else ()) if isinstance(c, Mapping))


def write_amount(resource: str, amount: Decimal) -> str:
    """Return a quantity in the notation of manifests: 1500m, 2, 1.5Gi."""
    if resource == "memory":
        for unit, power in reversed(BINARY.items()):
            if amount >= 1024**power:
                return _write(round_amount(amount / 1024**power, "0.01")) + unit
    is_whole = amount == amount.to_integral_value()
    return _write(amount) if is_whole else f"{(amount * 1000).to_integral_value(ROUND_CEILING)}m"


def _read_amount_of(container: JSONObject, bound: str, resource: str, defaults: Defaults) -> Decimal | None:
    own = get_at(dict(container), ("resources", bound, resource))
    if own is None and bound == "requests":
        own = get_at(dict(container), ("resources", "limits", resource))
    return defaults.get((bound, resource)) if own is None else count_amount(own)


def _sum_pod(spec: JSONObject, bound: str, resource: str, defaults: Defaults) -> Decimal:
    def amount(container: JSONObject) -> Decimal:
        return _read_amount_of(container, bound, resource, defaults) or Decimal(0)

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


def _count_running(kind: str, live: JSONObject) -> int:
    if kind == "Pod":
        return int(get_at(live, ("status", "phase")) not in ENDED_PHASES)
    found = get_at(live, ("status", "currentNumberScheduled" if kind == "DaemonSet" else "replicas"), 0)
    return found if isinstance(found, int) else 0


def _find_spec(kind: str, obj: JSONObject | None) -> JSONObject | None:
    spec = get_at(obj, ("spec",) if kind == "Pod" else ("spec", "template", "spec"))
    return spec if isinstance(spec, Mapping) else None


def _multiply(spec: JSONObject, pods: int, defaults: Defaults) -> Amounts:
    return {(b, r): pods * _sum_pod(spec, b, r, defaults) for b in _BOUNDS for r in RESOURCES}


def sum_running(kind: str, live: JSONObject | None, defaults: Defaults) -> Amounts:
    """Return what the pods that a live workload has now ask for, and their number."""
    spec = _find_spec(kind, live)
    if live is None or spec is None:
        return {}
    pods = _count_running(kind, live)
    return {**_multiply(spec, pods, defaults), PODS: Decimal(pods)}


def sum_wanted(kind: str, obj: JSONObject | None, live: JSONObject | None, defaults: Defaults) -> Amounts:
    """Return what the pods that a workload wants ask for, and their number."""
    spec = _find_spec(kind, obj)
    if obj is None or spec is None:
        return {}
    pods = _count_pods(kind, obj, live)
    return {**_multiply(spec, pods, defaults), PODS: Decimal(pods)}


def list_unset(kind: str, obj: JSONObject | None, defaults: Defaults) -> frozenset[tuple[str, str]]:
    """Return the amounts that some container of a workload does not set, and no LimitRange sets for it."""
    spec = _find_spec(kind, obj)
    if spec is None:
        return frozenset()
    containers = [*_list_containers(spec, "containers"), *_list_containers(spec, "initContainers")]
    return frozenset(
        (bound, resource)
        for bound in _BOUNDS
        for resource in RESOURCES
        if any(_read_amount_of(one, bound, resource, defaults) is None for one in containers)
    )


def read_defaults(ranges: Iterable[JSONObject]) -> dict[str, Defaults]:
    """Return the defaults of containers by namespace; the first LimitRange that sets one counts."""
    found: dict[str, dict[tuple[str, str], Decimal]] = {}
    for limit_range in ranges:
        own = found.setdefault(ObjectRef.from_object(limit_range).namespace, {})
        items = get_at(limit_range, ("spec", "limits"))
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, Mapping) or item.get("type") != "Container":
                continue
            for bound, part in (("requests", "defaultRequest"), ("limits", "default")):
                for resource in RESOURCES:
                    amount = get_at(dict(item), (part, resource))
                    if amount is not None:
                        own.setdefault((bound, resource), count_amount(amount))
    return dict(found)


def _write(amount: Decimal) -> str:
    return format(amount.normalize(), "f")


def sum_resources(changes: Iterable[PlannedObject]) -> tuple[ResourceSum, ...]:
    """Return the sums of all workloads in a plan by namespace; resources that nothing names are left out."""
    before: dict[tuple[str, str, str], Decimal] = {}
    after: dict[tuple[str, str, str], Decimal] = {}
    for change in changes:
        kind = change.ref.gvk.kind
        if kind not in WORKLOADS:
            continue
        live = change.versions.live
        then = live if change.operation in NOT_WRITTEN else change.versions.after
        then = None if change.operation.is_deletion else then
        for sums, obj in ((before, live), (after, then)):
            for (bound, resource), amount in sum_wanted(kind, obj, live, {}).items():
                if bound not in _BOUNDS:
                    continue
                key = (change.ref.namespace, bound, resource)
                sums[key] = sums.get(key, Decimal(0)) + amount
    keys = sorted(before.keys() | after.keys(), key=lambda p: (p[0], p[1] != "requests", p[2]))
    rows = ((*p, before.get(p, Decimal(0)), after.get(p, Decimal(0))) for p in keys)
    return tuple(ResourceSum(n, b, r, _write(x), _write(y)) for n, b, r, x, y in rows if x or y)
