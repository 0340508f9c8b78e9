"""The sentence over a plan: how much changes, which pods restart, what stops, what may hold it up.

Rule: a change of the pod template replaces pods; `Recreate`, a deletion and a scale to zero stop a workload.
Everything is read from the changes and their hazards, nothing is calculated twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from applyviz.engine.hazards.model import HazardKind
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.plan import Certainty, ObjectChange, Operation

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Pod", "Job")
_TEMPLATES = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"), ("spec",))
_EFFECTS = {
    Operation.CREATE: "created",
    Operation.UPDATE: "changed",
    Operation.RECREATE: "deleted and made anew",
    Operation.PRUNE: "deleted",
    Operation.REFUSED: "refused",
    Operation.ERROR: "in error",
}


@dataclass(frozen=True, slots=True)
class ImageChange:
    """One container that gets another image."""

    ref: ObjectRef
    container: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Restart:
    """One workload whose pods are replaced; `pods` is 0 when nobody knows how many."""

    ref: ObjectRef
    pods: int
    strategy: str
    budgets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What a plan does, in figures and in a sentence.

    - `counts`: objects per operation; `stopped`: workloads without a pod in between or afterwards.
    - `calculated`: changes that no server confirmed; `pods_restarted`: as far as their number is known.
    - `pending`: restarts of refused objects, which come once their conflicts are decided; counted nowhere else.
    """

    sentence: str
    counts: Mapping[str, int] = field(default_factory=dict)
    restarts: tuple[Restart, ...] = ()
    images: tuple[ImageChange, ...] = ()
    stopped: tuple[ObjectRef, ...] = ()
    budgets: tuple[str, ...] = ()
    conflicts: int = 0
    calculated: int = 0
    pods_restarted: int = 0
    images_changed: int = 0
    workloads_stopped: int = 0
    pending: tuple[Restart, ...] = ()


def _read_restart(change: ObjectChange) -> Restart | None:
    for hazard in change.hazards:
        if hazard.kind is HazardKind.PODS_RESTART:
            facts = hazard.facts
            pods = facts.get("pods", "")
            budgets = tuple(b for b in facts.get("budgets", "").split(", ") if b)
            return Restart(change.ref, int(pods) if pods.isdigit() else 0, facts.get("strategy", ""), budgets)
    return None


def _read_images(obj: JSONObject | None) -> dict[str, str]:
    """Images by container name, init containers too."""
    images: dict[str, str] = {}
    for path in _TEMPLATES:
        spec = get_at(obj, path)
        for group in ("initContainers", "containers"):
            containers: JSONValue = spec.get(group) if isinstance(spec, Mapping) else None
            for container in containers if isinstance(containers, list) else ():
                if isinstance(container, Mapping) and isinstance(container.get("image"), str):
                    images.setdefault(str(container.get("name", "")), container["image"])
    return images


def _list_images(change: ObjectChange) -> Iterator[ImageChange]:
    if change.operation not in (Operation.UPDATE, Operation.RECREATE):
        return
    before, after = _read_images(change.versions.live), _read_images(change.versions.after)
    for container in sorted(before.keys() & after.keys()):
        if before[container] != after[container]:
            yield ImageChange(change.ref, container, before[container], after[container])


def _replicas(obj: JSONObject | None) -> int:
    value = get_at(obj, ("spec", "replicas"), 1)
    return value if isinstance(value, int) else 1


def _is_stopped(change: ObjectChange, restart: Restart | None) -> bool:
    if change.ref.gvk.kind not in _WORKLOADS:
        return False
    if change.operation in (Operation.RECREATE, Operation.PRUNE):
        return True
    if restart is not None and restart.strategy == "Recreate":
        return True
    is_update = change.operation is Operation.UPDATE and change.versions.after is not None
    return is_update and _replicas(change.versions.live) > 0 and _replicas(change.versions.after) == 0


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _list_kinds(restarts: Iterable[Restart]) -> str:
    kinds = Counter(r.ref.gvk.kind for r in restarts)
    return " and ".join(_number(count, kind) for kind, count in kinds.most_common())


def _list_impact(restarts: tuple[Restart, ...], images: int, stopped: int, budgets: tuple[str, ...]) -> Iterator[str]:
    if restarts:
        verb = "restarts" if len(restarts) == 1 else "restart"
        yield f"{_list_kinds(restarts)} {verb} {_number(sum(r.pods for r in restarts), 'pod')}"
    if stopped:
        yield f"{_number(stopped, 'workload')} {'stops' if stopped == 1 else 'stop'} meanwhile"
    if images:
        yield f"{_number(images, 'image')} {'changes' if images == 1 else 'change'}"
    if budgets:
        count = len(budgets)
        yield "a PodDisruptionBudget may hold it up" if count == 1 else f"{count} PodDisruptionBudgets may hold it up"


def _write_sentence(counts: Mapping[str, int], impact: list[str]) -> str:
    parts = [f"{counts[o.value]} {word}" for o, word in _EFFECTS.items() if counts.get(o.value)]
    unchanged = counts.get(Operation.UNCHANGED.value, 0)
    if not parts:
        return f"Nothing changes: {_number(unchanged, 'object')} as they are." if unchanged else "Nothing to apply."
    total = sum(counts.values()) - unchanged
    sentence = f"{_number(total, 'object')}: {', '.join(parts)}"
    if unchanged:
        sentence += f"; {unchanged} unchanged"
    return f"{sentence}. {', '.join(impact)}." if impact else f"{sentence}."


def summarize(changes: Iterable[ObjectChange]) -> PlanSummary:
    """The figures and the sentence of a plan's changes."""
    changes = tuple(changes)
    read = [(c, _read_restart(c)) for c in changes]
    found = [(c, None if c.operation is Operation.REFUSED else restart) for c, restart in read]
    restarts = tuple(r for _, r in found if r is not None)
    pending = tuple(r for c, r in read if r is not None and c.operation is Operation.REFUSED)
    images = tuple(image for c in changes for image in _list_images(c))
    stopped = tuple(c.ref for c, restart in found if _is_stopped(c, restart))
    budgets = tuple(dict.fromkeys(b for r in restarts for b in r.budgets))
    counts = Counter(c.operation.value for c in changes)
    impact = list(_list_impact(restarts, len(images), len(stopped), budgets))
    return PlanSummary(
        sentence=_write_sentence(counts, impact),
        counts=dict(counts),
        restarts=restarts,
        images=images,
        stopped=stopped,
        budgets=budgets,
        conflicts=sum(len(c.conflicts) for c in changes),
        calculated=sum(c.certainty is Certainty.CALCULATED for c in changes),
        pods_restarted=sum(r.pods for r in restarts),
        images_changed=len(images),
        workloads_stopped=len(stopped),
        pending=pending,
    )
