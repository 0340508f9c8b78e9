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


class ResolutionKind(StrEnum):
    """The three ways out of a conflict."""

    OVERWRITE = "take over"
    GIVE_UP = "leave to the other"
    SHARE = "keep live and own it too"


@dataclass(frozen=True, slots=True)
class ResolutionChoice:
    """One conflict, decided: the field, who owns it now, and the way out."""

    path: FieldPath
    manager: str
    way: ResolutionKind


@dataclass(frozen=True, slots=True)
class ResolvedManifest:
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
class ResolutionOption:
    """One way out of one conflict, shown as its result: the field's value and its owners afterwards.

    - `edit` is what it changes in the body that is sent and in the file; `patch` that edit in the lines of the file.
    - `is_possible`: False where the manifest has no field of its own that could be left or kept.
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
    """The ways out for one field, and every field manager that is in the way of it."""

    path: FieldPath
    managers: tuple[str, ...]
    ways: tuple[ResolutionOption, ...]


@dataclass(frozen=True, slots=True)
class ResolvedField:
    """A conflict that a change carries the answer to: by a person's decision, or by the conflict rule `rule`."""

    path: FieldPath
    manager: str
    way: ResolutionKind
    rule: int = 0
    edit: FileEdit | None = None
    patch: FilePatch | None = None


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A server-side apply that others are in the way of."""

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
        """Who is in the way of `manifest`."""
        try:
            self.apply(manifest, force=False)
        except ConflictError as error:
            return error.conflicts
        return ()


def find_edit(conflict_row: FieldConflict, decision: ResolutionChoice) -> FileEdit | None:
    """What a decision changes in the file; taking over changes nothing."""
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
    """Return a manifest, or the body that is sent for it, with one edit."""
    if edit is None:
        return manifest
    return remove_place(manifest, edit.path) if edit.is_removed else set_place(manifest, edit.path, edit.after)


def apply_decisions(conflict_row: FieldConflict, decisions: Iterable[ResolutionChoice]) -> ResolvedManifest:
    """Carry decisions out on a manifest, as far as they go.

    - Two different ways for one field are a `PlanError`.
    - A field manager that no decision names is never forced out.
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
    """What an apply gives while every disputed field keeps its live value and its owners.

    - None when a conflict stands where the manifest has no field of its own.
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
    """Return the three ways out of one conflict, each with what it gives, whatever is decided of the others."""
    return tuple(
        _show_way(conflict_row, ResolutionChoice(conflict.path, conflict.manager, way)) for way in ResolutionKind
    )


def list_common_resolutions(
    conflict_row: FieldConflict, conflicts: Sequence[Conflict]
) -> Iterator[tuple[Conflict, tuple[ResolutionOption, ...]]]:
    """Yield the three ways out of each of many conflicts, where all go the same way: three applies and no more."""
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
