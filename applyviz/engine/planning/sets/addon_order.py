"""Order the changes of a kOps channel: addon by addon, each with its deletions and last its record.

Rule: the order of the channel, but an addon whose objects need a kind or a namespace that another one creates comes
after it. Manifests of no addon come last, unless an addon needs them. kOps has no order: it repeats the whole channel
until everything is applied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.sets.order import rank_change
from applyviz.engine.requests.options import Order

_NO_ADDON = ""
_Need = tuple[str, ...]


def _find_provided(change: PlannedObject) -> _Need | None:
    """Return what a change brings that objects of other addons need: a kind or a namespace."""
    kind = (change.ref.gvk.group, change.ref.gvk.kind)
    if kind == NAMESPACE:
        return ("namespace", change.ref.name)
    if kind == CRD:
        spec = get_at(change.versions.manifest, ("spec",))
        return ("kind", str(get_at(spec, ("group",))), str(get_at(spec, ("names", "kind"))))
    return None


def _list_needs(change: PlannedObject) -> tuple[_Need, _Need]:
    return ("namespace", change.ref.namespace), ("kind", change.ref.gvk.group, change.ref.gvk.kind)


def sort_addons(addons: Sequence[str], changes: Iterable[PlannedObject]) -> tuple[str, ...]:
    """Return the names of addons in the order of application; addons that need each other keep their order.

    - One of the names is "", for the manifests of no addon.
    """
    applied = [c for c in changes if not c.is_record and c.operation is not Operation.PRUNE]
    providers = {need: c.addon for c in applied if (need := _find_provided(c)) is not None}
    before: dict[str, set[str]] = {name: set() for name in (*addons, _NO_ADDON)}
    for change in applied:
        before[change.addon] |= {providers[need] for need in _list_needs(change) if need in providers} - {change.addon}
    return tuple(sort_names(tuple(before), before))


def sort_names(names: Sequence[str], before: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the first name whose predecessors are all done, again and again; the first that is left if none is."""
    numbers = {name: number for number, name in enumerate(names)}
    after: dict[str, list[str]] = {name: [] for name in names}
    for name, needed in before.items():
        for other in needed & numbers.keys():
            after[other].append(name)
    left = {name: len(needed) for name, needed in before.items()}
    ready = [numbers[name] for name in names if not left[name]]
    waiting = deque(names)
    done: set[str] = set()
    while len(done) < len(names):
        while waiting[0] in done:
            waiting.popleft()
        name = names[heappop(ready)] if ready else waiting[0]
        if name in done:
            continue
        done.add(name)
        yield name
        for follower in after[name]:
            left[follower] -= 1
            if not left[follower]:
                heappush(ready, numbers[follower])


def _rank_record(change: PlannedObject) -> int:
    """Return 0 for the objects of an addon; then come the marks of nodes, and last the record on the namespace."""
    is_last = (change.ref.gvk.group, change.ref.gvk.kind) == NAMESPACE
    return (2 if is_last else 1) if change.is_record else 0


def order_addons(changes: Iterable[PlannedObject], order: Order, addons: Sequence[str]) -> tuple[PlannedObject, ...]:
    """Return the changes in the order of application, each with its step.

    - `addons`: the names in the order of the channel.
    """
    changes = tuple(changes)
    numbers = {name: number for number, name in enumerate(sort_addons(addons, changes))}

    def rank(given: int, change: PlannedObject) -> tuple[int, int, int]:
        kind = given if order is Order.AS_GIVEN else rank_change(change)
        return (numbers[change.addon], _rank_record(change), kind)

    ranks = [rank(given, change) for given, change in enumerate(changes)]
    steps = {found: n for n, found in enumerate(sorted(set(ranks)))}
    placed = [replace(change, step=steps[found]) for change, found in zip(changes, ranks, strict=True)]
    return tuple(sorted(placed, key=lambda c: c.step))
