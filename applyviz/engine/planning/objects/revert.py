"""Compute the revert of a change: a manifest for the same field manager, or a deletion of what was created.

Rule: the fields that the manager set before the change (its Apply entry, or its last-applied annotation) and every
field that the change touched return to their values before it; fields that the change added are left out of the
manifest, so that applying it removes them. Everything that cannot return is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.known_names import LAST_APPLIED, NAMING, SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership.extracting import keep_fields
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, LeafFinder, list_leaves

_SERVERS = SERVER_WRITTEN | {"deletionTimestamp", "deletionGracePeriodSeconds"}
_HOLD_DATA = {
    NAMESPACE: "everything that was put into it since",
    ("", "PersistentVolumeClaim"): "the data of its volume",
    ("", "PersistentVolume"): "the data of its volume",
    CRD: "every object of its kind",
    ("apps", "StatefulSet"): "the order and identity of its pods",
}
_RUNS_ONCE = {("batch", "Job"), ("", "Pod")}


class Revert(Struct, frozen=True):
    """The revert of one change.

    - `manifest`: the manifest to apply, None if there is nothing to apply.
    - `deletes`: whether to delete the object.
    - `notes`: its limits and side effects, one sentence each, without any value.
    """

    manifest: JSONObject | None = None
    deletes: bool = False
    notes: tuple[str, ...] = ()


def _is_near(path: FieldPath, other: FieldPath) -> bool:
    """Return whether one path lies at or below the other."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def _plain(obj: JSONObject) -> MutableObject:
    """Return an object without status and without what servers write into metadata."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _SERVERS}
    annotations = metadata.get("annotations")
    if isinstance(annotations, Mapping):
        kept = {k: v for k, v in annotations.items() if k != LAST_APPLIED}
        metadata = (
            {**metadata, "annotations": kept} if kept else {k: v for k, v in metadata.items() if k != "annotations"}
        )
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}


def list_touched(before: JSONObject, after: JSONObject, root: Node | None) -> tuple[FieldPath, ...]:
    """Return the leaves that differ between two versions, except those that servers write."""
    left, right = (
        list_leaves(root, _plain(drop_server_managed(before))),
        list_leaves(root, _plain(drop_server_managed(after))),
    )
    return tuple(path for path in dict.fromkeys((*left, *right)) if left.get(path, MISSING) != right.get(path, MISSING))


def _intended(before: JSONObject, mode: ApplyMode, manager: str, root: Node | None) -> Collection[FieldPath]:
    """Return the leaves that the manager set before."""
    leaves = list_leaves(root, _plain(before))
    if mode is ApplyMode.CLIENT:
        try:
            last = last_applied.find(before)
        except MergeError:
            last = None
        finder = LeafFinder(root, last or {})
        return [path for path in leaves if finder.find(path) is not MISSING]
    owners = read_owners(before)
    return [
        path
        for path in leaves
        if any(owner.manager == manager and owner.operation == "Apply" for owner in owners.of(path))
    ]


def _go_back(change: PlannedObject, mode: ApplyMode, manager: str, root: Node | None) -> Revert:
    before, after = change.versions.live or {}, change.versions.after or change.versions.merged or {}
    plain = _plain(before)
    touched = list_touched(before, after, root)
    leaves = list_leaves(root, plain)
    intended = set(_intended(before, mode, manager, root))
    kept = {p for p in leaves if p in intended or p in NAMING or any(_is_near(p, t) for t in touched)}
    return Revert(keep_fields(plain, kept, root), notes=tuple(_note_change(change, touched)))


def _note_change(change: PlannedObject, touched: Collection[FieldPath]) -> Iterator[str]:
    ref, before = change.ref, change.versions.live or {}
    if change.operation is Operation.REPLACE:
        yield f"{ref} was deleted and created again: it keeps its new uid, and is replaced once more"
    if (ref.gvk.group, ref.gvk.kind) in _RUNS_ONCE:
        yield f"{ref}: what ran stays done"
    if before.get("immutable") is True:
        yield f"{ref} is immutable: its data cannot go back without deleting it"
    if any(path[:2] == ("f:spec", "f:volumeClaimTemplates") for path in touched):
        yield f"{ref}: volume claims that were made meanwhile stay"


def _note_deletion(change: PlannedObject) -> Iterator[str]:
    kind = (change.ref.gvk.group, change.ref.gvk.kind)
    if kind in _HOLD_DATA:
        yield f"deleting {change.ref} deletes {_HOLD_DATA[kind]}"
    if kind in _RUNS_ONCE:
        yield f"{change.ref}: what ran stays done"


def _create_again(change: PlannedObject) -> Revert:
    before = change.versions.live or {}
    # A Job's selector and labels hold its uid, which the new one does not have.
    manifest = _plain(without_chosen(before, before, None))
    notes = [f"{change.ref} is created again with another uid; its status and the history of its owners are lost"]
    kind = (change.ref.gvk.group, change.ref.gvk.kind)
    if kind in _HOLD_DATA:
        notes.append(f"{change.ref} comes back without {_HOLD_DATA[kind]}")
    spec = manifest.get("spec")
    if kind == ("", "Service") and isinstance(spec, Mapping) and spec.get("clusterIP") not in (None, "None"):
        manifest["spec"] = {n: v for n, v in spec.items() if n not in ("clusterIP", "clusterIPs")}
        notes.append(f"{change.ref} gets another address")
    if get_at(before, ("metadata", "ownerReferences")):
        metadata = {n: v for n, v in manifest["metadata"].items() if n != "ownerReferences"}
        manifest["metadata"] = metadata
        notes.append(f"{change.ref} comes back without its owner")
    if kind == ("batch", "Job"):
        notes.append(f"{change.ref} runs again when it is created")
    return Revert(manifest, notes=tuple(notes))


def invert(change: PlannedObject, *, mode: ApplyMode, manager: str, root: Node | None) -> Revert:
    """Return the revert of an applied change; the change must be unmasked.

    - `manager`: the field manager that applied it, which also reverts it.
    """
    match change.operation:
        case Operation.CREATE:
            return Revert(deletes=True, notes=tuple(_note_deletion(change)))
        case Operation.UPDATE | Operation.REPLACE:
            return _go_back(change, mode, manager, root)
        case Operation.PRUNE | Operation.DELETE:
            return _create_again(change)
        case _:
            return Revert()
