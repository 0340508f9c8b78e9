"""Resolve conflicts: three options for each, the result of each option, and the request that follows.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts. Force is a property of a whole
request, so giving up a field and sharing its live value edit the body; force is sent only if every remaining conflict
was resolved by overwriting. The edit of a resolution also applies to the file.
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


class ResolutionKind(StrEnum):
    """The three resolutions of a conflict."""

    OVERWRITE = "overwrite"
    GIVE_UP = "give-up"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class ResolutionChoice:
    """The resolution of one conflict: the field, its current owner, and the choice."""

    path: FieldPath
    manager: str
    way: ResolutionKind


@dataclass(frozen=True, slots=True)
class ResolvedManifest:
    """The outcome of resolutions.

    - `manifest`: the edited intent; `takes_over`: whether force is sent; `result`: the object after apply.
    - `open_conflicts`: the unresolved conflicts; nothing can be sent while there are any.
    """

    manifest: JSONObject
    takes_over: bool
    result: JSONObject | None
    open_conflicts: tuple[Conflict, ...] = ()
    edits: tuple[FileEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolutionOption:
    """One resolution of one conflict, shown by its result: the field's value and its owners afterwards.

    - `edit` is its change to the request body and to the file; `patch` is that edit in the lines of the file.
    - `is_possible`: False if the manifest does not contain the field, so that it cannot be given up or shared.
    """

    way: ResolutionKind
    value: JSONValue
    is_present: bool
    owners: tuple[Owner, ...]
    edit: FileEdit | None = None
    patch: FilePatch | None = None
    is_possible: bool = True


@dataclass(frozen=True, slots=True)
class FieldResolutions:
    """The resolutions of one field, and every conflicting field manager."""

    path: FieldPath
    managers: tuple[str, ...]
    ways: tuple[ResolutionOption, ...]


@dataclass(frozen=True, slots=True)
class ResolvedField:
    """A resolved conflict of a change, by a person or by the conflict rule `rule`."""

    path: FieldPath
    manager: str
    way: ResolutionKind
    rule: int = 0
    edit: FileEdit | None = None
    patch: FilePatch | None = None


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A server-side apply with conflicts."""

    live: JSONObject
    manifest: JSONObject
    kind: KindSchema
    manager: str
    now: str
    subresource: str = ""

    def apply(self, manifest: JSONObject, *, force: bool) -> JSONObject:
        """Return the object after an apply of `manifest`.

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
        """Return the conflicts of `manifest`."""
        try:
            self.apply(manifest, force=False)
        except ConflictError as error:
            return error.conflicts
        return ()


def find_edit(conflict_row: FieldConflict, decision: ResolutionChoice) -> FileEdit | None:
    """Return the edit of the file that a resolution makes; overwriting edits nothing."""
    places = list_places(conflict_row.manifest, decision.path)
    if decision.way is ResolutionKind.OVERWRITE or len(places) < len(decision.path):
        return None
    container, step = places[-1]
    before = container[step]
    live = find_value(conflict_row.kind.root, conflict_row.live, decision.path)
    if decision.way is ResolutionKind.GIVE_UP or live is MISSING:
        return FileEdit(decision.path, before, is_removed=True)
    return FileEdit(decision.path, before, live)


def edit_manifest(manifest: JSONObject, edit: FileEdit | None) -> JSONObject:
    """Return a manifest, or the request body made from it, with one edit."""
    if edit is None:
        return manifest
    return remove_place(manifest, edit.path) if edit.is_removed else set_place(manifest, edit.path, edit.after)


def apply_decisions(conflict_row: FieldConflict, decisions: Iterable[ResolutionChoice]) -> ResolvedManifest:
    """Apply resolutions to a manifest, as far as possible.

    - Two different resolutions of one field are a `PlanError`.
    - A field manager that no resolution names is never overwritten.
    """
    decisions = tuple(decisions)
    taken = {(d.path, d.manager) for d in decisions if d.way is ResolutionKind.OVERWRITE}
    ways: dict[FieldPath, ResolutionKind] = {}
    edits: dict[FieldPath, FileEdit] = {}
    manifest = conflict_row.manifest
    for decision in decisions:
        if ways.setdefault(decision.path, decision.way) is not decision.way:
            raise PlanError(f"{render_path(decision.path)} was decided in two ways")
        edit = find_edit(conflict_row, decision)
        manifest = edit_manifest(manifest, edit)
        if edit is not None:
            edits[edit.path] = edit
    left = conflict_row.find_conflicts(manifest)
    open_conflicts = tuple(c for c in left if (c.path, c.manager) not in taken)
    takes_over = bool(left) and not open_conflicts
    result = None if open_conflicts else conflict_row.apply(manifest, force=takes_over)
    return ResolvedManifest(manifest, takes_over, result, open_conflicts, tuple(edits.values()))


def leave_all(conflict_row: FieldConflict, conflicts: tuple[Conflict, ...]) -> JSONObject | None:
    """Return the result of an apply in which every conflicting field keeps its live value and its owners.

    - None if the manifest does not contain a conflicting field as such.
    """
    manifest = conflict_row.manifest
    while conflicts:
        edited = manifest
        for conflict in conflicts:
            edited = remove_place(edited, conflict.path)
        if edited == manifest:
            return None
        manifest, conflicts = edited, conflict_row.find_conflicts(edited)
    return conflict_row.apply(manifest, force=False)


def list_resolutions(conflict_row: FieldConflict, conflict: Conflict) -> tuple[ResolutionOption, ...]:
    """Return the three resolutions of one conflict with their results, independent of other resolutions."""
    return tuple(
        _show_way(conflict_row, ResolutionChoice(conflict.path, conflict.manager, way)) for way in ResolutionKind
    )


def list_common_resolutions(
    conflict_row: FieldConflict, conflicts: Sequence[Conflict]
) -> Iterator[tuple[Conflict, tuple[ResolutionOption, ...]]]:
    """Yield the options of each of many conflicts when all are resolved the same way, by only three applies."""
    results = {}
    for way in ResolutionKind:
        manifest = conflict_row.manifest
        for conflict in conflicts:
            manifest = edit_manifest(
                manifest, find_edit(conflict_row, ResolutionChoice(conflict.path, conflict.manager, way))
            )
        results[way] = conflict_row.apply(manifest, force=True)
    for conflict in conflicts:
        decisions = (ResolutionChoice(conflict.path, conflict.manager, way) for way in ResolutionKind)
        yield conflict, tuple(_read_way(conflict_row, d, find_edit(conflict_row, d), results[d.way]) for d in decisions)


def _show_way(conflict_row: FieldConflict, decision: ResolutionChoice) -> ResolutionOption:
    edit = find_edit(conflict_row, decision)
    result = conflict_row.apply(edit_manifest(conflict_row.manifest, edit), force=True)
    return _read_way(conflict_row, decision, edit, result)


def _read_way(
    conflict_row: FieldConflict, decision: ResolutionChoice, edit: FileEdit | None, result: JSONObject
) -> ResolutionOption:
    value = find_value(conflict_row.kind.root, result, decision.path)
    is_present = value is not MISSING
    owners = read_owners(result).of(decision.path)
    is_possible = edit is not None or decision.way is ResolutionKind.OVERWRITE
    return ResolutionOption(
        decision.way, value if is_present else None, is_present, owners, edit, is_possible=is_possible
    )
