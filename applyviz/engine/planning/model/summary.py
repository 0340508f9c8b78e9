"""Summarize a plan: which pods restart, and which workloads stop, are deleted or scaled to 0.

Rule: a change of the pod template replaces pods; with `Recreate`, and when the object is deleted with its pods and
created again, no pod runs in between. Everything is read from the changes and their risks, nothing is calculated twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.explain.reasons import Reason
from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.resources import ResourceSum, sum_resources
from applyviz.engine.references.pods import POD_SPECS
from applyviz.engine.requests.calls import moves_ownership
from applyviz.engine.requests.options import ApplyOptions, Propagation
from applyviz.engine.requests.replacement import list_unmatched
from applyviz.engine.risks.replaced_pods import is_adopting
from applyviz.engine.risks.restarts import PODS_RESTART

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Pod", "Job")
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


class ImageChange(Struct, frozen=True):
    """One container that gets another image."""

    ref: ObjectRef
    container: str
    before: str
    after: str


class Restart(Struct, frozen=True):
    """One workload whose pods are replaced; `pods` is 0 if their number is unknown.

    - `stops_all`: no pod runs in between; `is_new`: they stop with the workload, which is deleted and created again.
    """

    ref: ObjectRef
    pods: int
    strategy: str
    stops_all: bool = False
    is_new: bool = False


class PlanSummary(Struct, frozen=True):
    """The effects of a plan on running workloads and on field ownership.

    - `stopped`: workloads without a pod in between; `deleted` and `scaled_down`: those without one afterwards.
    - `records_removed`: objects that lose their last-applied annotation.
    - `ownership_starts`: objects without field owners whose last-applied fields get one.
    - `unmatched`: names to replace that match no object of the manifests; `unmatched_left_out`: names to leave out.
    - `pending`: restarts of blocked objects, which happen once their conflicts are resolved.
    """

    restarts: tuple[Restart, ...] = ()
    images: tuple[ImageChange, ...] = ()
    stopped: tuple[ObjectRef, ...] = ()
    deleted: tuple[ObjectRef, ...] = ()
    scaled_down: tuple[ObjectRef, ...] = ()
    pending: tuple[Restart, ...] = ()
    ownership_moves: int = 0
    moves_from: tuple[str, ...] = ()
    records_removed: int = 0
    ownership_starts: int = 0
    resources: tuple[ResourceSum, ...] = ()
    unmatched: tuple[str, ...] = ()
    unmatched_left_out: tuple[str, ...] = ()


def _read_restart(change: PlannedObject) -> Restart | None:
    for risk in change.risks:
        if risk.kind is PODS_RESTART:
            facts = risk.facts
            count = read_digits(facts.get("pods", "")) or 0
            return Restart(change.ref, count, facts.get("strategy", ""), "stops" in facts, "owner" in facts)
    return None


def read_images(obj: JSONObject | None) -> dict[str, str]:
    """Return images by container name, including init containers."""
    images: dict[str, str] = {}
    for path in POD_SPECS:
        spec = get_at(obj, path)
        for group in ("initContainers", "containers"):
            containers: JSONValue = spec.get(group) if isinstance(spec, Mapping) else None
            for container in containers if isinstance(containers, list) else ():
                if isinstance(container, Mapping) and isinstance(container.get("image"), str):
                    images.setdefault(str(container.get("name", "")), container["image"])
    return images


def list_image_changes(change: PlannedObject) -> Iterator[ImageChange]:
    """Yield the containers that get another image, by name."""
    if change.operation not in (Operation.UPDATE, Operation.REPLACE):
        return
    before, after = read_images(change.versions.live), read_images(change.versions.after)
    for container in sorted(before.keys() & after.keys()):
        if before[container] != after[container]:
            yield ImageChange(change.ref, container, before[container], after[container])


def _replicas(obj: JSONObject | None) -> int:
    value = get_at(obj, ("spec", "replicas"), 1)
    return value if isinstance(value, int) else 1


def _is_stopped(change: PlannedObject, restart: Restart | None) -> bool:
    return restart is not None and restart.stops_all and change.ref.gvk.kind in _WORKLOADS


def _is_deleted(change: PlannedObject) -> bool:
    return change.operation.is_deletion and change.ref.gvk.kind in _WORKLOADS


def _leaves_pods(change: PlannedObject, live: JSONObject, after: JSONObject) -> bool:
    """Return whether the pods of a replaced workload keep running: orphaned, and not adopted by the new one."""
    deletions = (request.body for request in change.requests if request.method == "DELETE")
    is_orphaning = any(get_at(body, ("propagationPolicy",)) == Propagation.ORPHAN for body in deletions)
    return is_orphaning and not is_adopting(change.ref, live, after)


def _is_scaled_down(change: PlannedObject) -> bool:
    is_update = change.operation in (Operation.UPDATE, Operation.REPLACE)
    live, after = change.versions.live, change.versions.after
    if not is_update or live is None or after is None or change.ref.gvk.kind not in _SCALED:
        return False
    return _replicas(live) > 0 and _replicas(after) == 0 and not _leaves_pods(change, live, after)


def _list_moves(changes: Iterable[PlannedObject]) -> Iterator[tuple[str, ...]]:
    """Yield the field managers from which the apply of each object takes ownership.

    - A handover alone takes none, nor does an apply that drops last-applied only to write it again.
    """
    for change in changes:
        for request in filter(moves_ownership, change.requests):
            found = request.placeholders
            names = [name for p in found for name in (*(p.managers or ()), *(one.manager for one in p.taken))]
            if names:
                yield tuple(dict.fromkeys(names))


def _starts_ownership(change: PlannedObject) -> bool:
    """Return whether fields of the live object get an owner although it has none."""
    return not find_entries(change.versions.live or {}) and any(map(moves_ownership, change.requests))


def _list_as_written(refs: Iterable[ObjectRef], options: ApplyOptions) -> Iterator[ObjectRef]:
    """Yield the objects of the default namespace as a manifest may name them, without it."""
    yield from (ref._replace(namespace="") for ref in refs if ref.namespace == options.namespace)


def summarize(changes: Iterable[PlannedObject], options: ApplyOptions | None = None) -> PlanSummary:
    """Return the effects of a plan's changes, and what `options` choose in vain."""
    changes, chosen = tuple(changes), options or ApplyOptions()
    named = [c.ref for c in changes if not c.operation.is_deletion or c.is_ended or chosen.is_deleting]
    read = [(c, _read_restart(c)) for c in changes]
    found = [(c, None if c.operation is Operation.BLOCKED else restart) for c, restart in read]
    restarts = tuple(r for _, r in found if r is not None)
    pending = tuple(r for c, r in read if r is not None and c.operation is Operation.BLOCKED)
    images = tuple(image for c in changes for image in list_image_changes(c))
    moves = list(_list_moves(changes))
    return PlanSummary(
        restarts=restarts,
        images=images,
        stopped=tuple(c.ref for c, restart in found if _is_stopped(c, restart)),
        deleted=tuple(c.ref for c in changes if _is_deleted(c)),
        scaled_down=tuple(c.ref for c in changes if _is_scaled_down(c)),
        pending=pending,
        ownership_moves=len(moves),
        moves_from=tuple(dict.fromkeys(name for names in moves for name in names)),
        records_removed=sum(any(f.reason is Reason.LAST_APPLIED_REMOVED for f in c.fields) for c in changes),
        ownership_starts=sum(map(_starts_ownership, changes)),
        resources=sum_resources(changes),
        unmatched=list_unmatched((*chosen.replacement.kinds, *chosen.replacement.objects), named),
        unmatched_left_out=list_unmatched(chosen.left_out, (*named, *_list_as_written(named, chosen))),
    )
