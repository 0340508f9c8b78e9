"""Decisions on conflicts: three ways out of each, what each would give, and the request that follows.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts. Force is a property of a whole
request, so leaving a field to its owner and keeping the live value edit the body; force is sent only when every
conflict that is left was decided as *take over*. What a decision changes goes home as an edit of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from applyviz.engine.objects.errors import Conflict, ConflictError, PlanError
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership import server_side
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch
from applyviz.engine.planning.conflicts.manifest_paths import list_places, remove_place, set_place
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import MISSING, find_value


class Way(StrEnum):
    """The three ways out of a conflict."""

    TAKE_OVER = "take over"
    LEAVE = "leave to the other"
    CO_OWN = "keep live and own it too"


@dataclass(frozen=True, slots=True)
class Decision:
    """One conflict, decided: the field, who owns it now, and the way out."""

    path: FieldPath
    manager: str
    way: Way


@dataclass(frozen=True, slots=True)
class Decided:
    """What comes of decisions.

    - `manifest`: the edited intent; `takes_over`: whether force is sent; `result`: the object afterwards.
    - `open_conflicts`: those that nobody decided; while there are any, nothing can be sent.
    """

    manifest: JSONObject
    takes_over: bool
    result: JSONObject | None
    open_conflicts: tuple[Conflict, ...] = ()
    edits: tuple[FileEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class WayOut:
    """One way out of one conflict, shown as its result: the field's value and its owners afterwards.

    - `edit` is what it changes in the body that is sent and in the file; `patch` that edit in the lines of the file.
    - `is_possible`: False where the manifest has no field of its own that could be left or kept.
    """

    way: Way
    value: JSONValue
    is_present: bool
    owners: tuple[Owner, ...]
    edit: FileEdit | None = None
    patch: FilePatch | None = None
    is_possible: bool = True


@dataclass(frozen=True, slots=True)
class FieldWays:
    """The ways out for one field, and every field manager that is in the way of it."""

    path: FieldPath
    managers: tuple[str, ...]
    ways: tuple[WayOut, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A conflict that a change carries the answer to: by a person's decision, or by the standing rule `rule`."""

    path: FieldPath
    manager: str
    way: Way
    rule: int = 0
    edit: FileEdit | None = None
    patch: FilePatch | None = None


@dataclass(frozen=True, slots=True)
class Dispute:
    """A server-side apply that others are in the way of."""

    live: JSONObject
    manifest: JSONObject
    kind: KindSchema
    manager: str
    now: str
    subresource: str = ""

    def apply(self, manifest: JSONObject, *, force: bool) -> JSONObject:
        """The object after an apply of `manifest`.

        - Raises `ConflictError`, `OwnershipError`.
        """
        result: JSONObject = server_side.apply(
            self.live,
            manifest,
            kind=self.kind,
            manager=self.manager,
            force=force,
            subresource=self.subresource,
            now=self.now,
        ).result
        return result

    def find_conflicts(self, manifest: JSONObject) -> tuple[Conflict, ...]:
        """Who is in the way of `manifest`."""
        try:
            self.apply(manifest, force=False)
        except ConflictError as error:
            return error.conflicts
        return ()


def find_edit(dispute: Dispute, decision: Decision) -> FileEdit | None:
    """What a decision changes in the file; taking over changes nothing."""
    places = list_places(dispute.manifest, decision.path)
    if decision.way is Way.TAKE_OVER or len(places) < len(decision.path):
        return None
    container, step = places[-1]
    before = container[step]
    live = find_value(dispute.kind.root, dispute.live, decision.path)
    if decision.way is Way.LEAVE or live is MISSING:
        return FileEdit(decision.path, before, is_removed=True)
    return FileEdit(decision.path, before, live)


def edit_manifest(manifest: JSONObject, edit: FileEdit | None) -> JSONObject:
    """A manifest, or the body that is sent for it, with one edit."""
    if edit is None:
        return manifest
    return remove_place(manifest, edit.path) if edit.is_removed else set_place(manifest, edit.path, edit.after)


def apply_decisions(dispute: Dispute, decisions: Iterable[Decision]) -> Decided:
    """Carry decisions out on a manifest, as far as they go.

    - Two different ways for one field are a `PlanError`.
    - A field manager that no decision names is never forced out.
    """
    decisions = tuple(decisions)
    taken = {(d.path, d.manager) for d in decisions if d.way is Way.TAKE_OVER}
    ways: dict[FieldPath, Way] = {}
    edits: dict[FieldPath, FileEdit] = {}
    manifest = dispute.manifest
    for decision in decisions:
        if ways.setdefault(decision.path, decision.way) is not decision.way:
            raise PlanError(f"{render_path(decision.path)} was decided in two ways")
        edit = find_edit(dispute, decision)
        manifest = edit_manifest(manifest, edit)
        if edit is not None:
            edits[edit.path] = edit
    left = dispute.find_conflicts(manifest)
    open_conflicts = tuple(c for c in left if (c.path, c.manager) not in taken)
    takes_over = bool(left) and not open_conflicts
    result = None if open_conflicts else dispute.apply(manifest, force=takes_over)
    return Decided(manifest, takes_over, result, open_conflicts, tuple(edits.values()))


def leave_all(dispute: Dispute, conflicts: tuple[Conflict, ...]) -> JSONObject | None:
    """What an apply gives while every disputed field keeps its live value and its owners.

    - None when a conflict stands where the manifest has no field of its own.
    """
    manifest = dispute.manifest
    while conflicts:
        edited = manifest
        for conflict in conflicts:
            edited = remove_place(edited, conflict.path)
        if edited == manifest:
            return None
        manifest, conflicts = edited, dispute.find_conflicts(edited)
    return dispute.apply(manifest, force=False)


def list_ways(dispute: Dispute, conflict: Conflict) -> tuple[WayOut, ...]:
    """The three ways out of one conflict, each with what it gives, whatever is decided of the others."""
    return tuple(_show_way(dispute, Decision(conflict.path, conflict.manager, way)) for way in Way)


def list_ways_together(
    dispute: Dispute, conflicts: Sequence[Conflict]
) -> Iterator[tuple[Conflict, tuple[WayOut, ...]]]:
    """The three ways out of each of many conflicts, where all go the same way: three applies and no more."""
    results = {}
    for way in Way:
        manifest = dispute.manifest
        for conflict in conflicts:
            manifest = edit_manifest(manifest, find_edit(dispute, Decision(conflict.path, conflict.manager, way)))
        results[way] = dispute.apply(manifest, force=True)
    for conflict in conflicts:
        decisions = (Decision(conflict.path, conflict.manager, way) for way in Way)
        yield conflict, tuple(_read_way(dispute, d, find_edit(dispute, d), results[d.way]) for d in decisions)


def _show_way(dispute: Dispute, decision: Decision) -> WayOut:
    edit = find_edit(dispute, decision)
    result = dispute.apply(edit_manifest(dispute.manifest, edit), force=True)
    return _read_way(dispute, decision, edit, result)


def _read_way(dispute: Dispute, decision: Decision, edit: FileEdit | None, result: JSONObject) -> WayOut:
    value = find_value(dispute.kind.root, result, decision.path)
    is_present = value is not MISSING
    owners = read_owners(result).of(decision.path)
    is_possible = edit is not None or decision.way is Way.TAKE_OVER
    return WayOut(decision.way, value if is_present else None, is_present, owners, edit, is_possible=is_possible)
