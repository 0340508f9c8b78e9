"""Resolve conflicts: three options for each, the result of each option, and the request that follows.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts. Force is a property of a whole
request, so giving up a field and sharing its live value edit the body; force is sent only if every remaining conflict
was resolved by overwriting. The edit of a resolution also applies to the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from applyviz.engine.objects.errors import Conflict, ConflictError, PlanError
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership import server_side
from applyviz.engine.ownership.managed_fields import APPLY, read_owners
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch
from applyviz.engine.planning.conflicts.manifest_paths import ManifestEditor, PathWalker
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import MISSING, LeafFinder


class ResolutionKind(StrEnum):
    """The three resolutions of a conflict."""

    OVERWRITE = "overwrite"
    GIVE_UP = "give-up"
    SHARE = "share"


class ResolutionChoice(Struct, frozen=True):
    """The resolution of one conflict: the field, its current owner, and the choice."""

    path: FieldPath
    manager: str
    resolution: ResolutionKind


class ResolvedManifest(Struct, frozen=True):
    """The outcome of resolutions.

    - `manifest`: the edited intent; `takes_over`: whether force is sent; `result`: the object after apply.
    - `open_conflicts`: the unresolved conflicts; nothing can be sent while there are any.
    """

    manifest: JSONObject
    takes_over: bool
    result: JSONObject | None
    open_conflicts: tuple[Conflict, ...] = ()
    edits: tuple[FileEdit, ...] = ()


class ResolutionOption(Struct, frozen=True):
    """One resolution of one conflict, shown by its result: the field's value and its owners afterwards.

    - `edit` is its change to the request body and to the file; `patch` is that edit in the lines of the file.
    - `is_possible`: False if the manifest does not contain the field, so that it cannot be given up or shared, or if
      the conflict is there without it: the server reads what was applied at `converted`, another version, by converting
      the object to that version and back, and that changes the field.
    """

    resolution: ResolutionKind
    value: Any
    is_present: bool
    owners: tuple[Owner, ...]
    edit: FileEdit | None = None
    patch: FilePatch | None = None
    is_possible: bool = True
    converted: str = ""


class FieldResolutions(Struct, frozen=True):
    """The resolutions of one field, and every conflicting field manager."""

    path: FieldPath
    managers: tuple[str, ...]
    options: tuple[ResolutionOption, ...]


class ResolvedField(Struct, frozen=True):
    """A resolved conflict of a change, by a person or by the conflict rule `rule`."""

    path: FieldPath
    manager: str
    resolution: ResolutionKind
    rule: int = 0
    edit: FileEdit | None = None
    patch: FilePatch | None = None


class FieldConflict(Struct, frozen=True):
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

    def find_other_version(self) -> str:
        """Return the version at which the manager last applied the object, "" if it is that of the manifest."""
        here = (self.manager, APPLY, self.subresource)
        owners = read_owners(self.live).entries
        versions = (o.owner.api_version for o in owners if o.owner.identity == here)
        return next((version for version in versions if version != self.manifest.get("apiVersion")), "")

    def find_conflicts(self, manifest: JSONObject) -> tuple[Conflict, ...]:
        """Return the conflicts of `manifest`."""
        try:
            self.apply(manifest, force=False)
        except ConflictError as error:
            return error.conflicts
        return ()


class EditFinder:
    """Finds the edits of many resolutions of one apply in linear time."""

    def __init__(self, conflict_row: FieldConflict) -> None:
        self._manifest = PathWalker(conflict_row.manifest)
        self._live = LeafFinder(conflict_row.kind.root, conflict_row.live)

    def find(self, decision: ResolutionChoice) -> FileEdit | None:
        """Return the edit of the file that a resolution makes; overwriting edits nothing."""
        if decision.resolution is ResolutionKind.OVERWRITE:
            return None
        steps = self._manifest.list_steps(decision.path)
        if len(steps) < len(decision.path):
            return None
        container, step = steps[-1]
        before = container[step]
        live = self._live.find(decision.path)
        if decision.resolution is ResolutionKind.GIVE_UP or live is MISSING:
            return FileEdit(decision.path, before, is_removed=True)
        return FileEdit(decision.path, before, live)


def edit_manifest(manifest: JSONObject, edits: Iterable[FileEdit | None]) -> JSONObject:
    """Return a manifest, or the request body made from it, with edits of its fields."""
    editor = ManifestEditor(manifest)
    for edit in filter(None, edits):
        if edit.is_removed:
            editor.remove_field(edit.path)
        else:
            editor.set_field(edit.path, edit.after)
    return editor.finish()


def apply_decisions(conflict_row: FieldConflict, decisions: Iterable[ResolutionChoice]) -> ResolvedManifest:
    """Apply resolutions to a manifest, as far as possible.

    - Two different resolutions of one field are a `PlanError`.
    - A field manager that no resolution names is never overwritten.
    """
    decisions = tuple(decisions)
    taken = {(d.path, d.manager) for d in decisions if d.resolution is ResolutionKind.OVERWRITE}
    chosen: dict[FieldPath, ResolutionKind] = {}
    edits: dict[FieldPath, FileEdit] = {}
    finder = EditFinder(conflict_row)
    for decision in decisions:
        if chosen.setdefault(decision.path, decision.resolution) is not decision.resolution:
            raise PlanError(f"{render_path(decision.path)} has two different resolutions")
        edit = finder.find(decision)
        if edit is not None:
            edits[edit.path] = edit
    manifest = edit_manifest(conflict_row.manifest, edits.values())
    left = conflict_row.find_conflicts(manifest)
    open_conflicts = tuple(c for c in left if (c.path, c.manager) not in taken)
    takes_over = bool(left) and not open_conflicts
    result = None if open_conflicts else conflict_row.apply(manifest, force=takes_over)
    return ResolvedManifest(manifest, takes_over, result, open_conflicts, tuple(edits.values()))


def leave_all(conflict_row: FieldConflict, conflicts: tuple[Conflict, ...]) -> JSONObject | None:
    """Return the manifest without its conflicting fields: applied, they keep their live values and their owners.

    - None if the manifest does not contain a conflicting field as such.
    """
    manifest = conflict_row.manifest
    while conflicts:
        editor = ManifestEditor(manifest)
        removed = [editor.remove_field(conflict.path) for conflict in conflicts]
        if not any(removed):
            return None
        manifest = editor.finish()
        conflicts = conflict_row.find_conflicts(manifest)
    return manifest


def list_resolutions(conflict_row: FieldConflict, conflict: Conflict) -> tuple[ResolutionOption, ...]:
    """Return the three resolutions of one conflict with their results, independent of other resolutions."""
    finder = EditFinder(conflict_row)
    options = []
    for resolution in ResolutionKind:
        edit = finder.find(ResolutionChoice(conflict.path, conflict.manager, resolution))
        options.append(_ApplyResult(conflict_row, [edit]).read_option(conflict.path, resolution, edit))
    return tuple(options)


def list_common_resolutions(
    conflict_row: FieldConflict, conflicts: Sequence[Conflict]
) -> Iterator[tuple[Conflict, tuple[ResolutionOption, ...]]]:
    """Yield the options of each of many conflicts when all are resolved the same way, by only three applies."""
    finder = EditFinder(conflict_row)
    edits = {
        (conflict.path, resolution): finder.find(ResolutionChoice(conflict.path, conflict.manager, resolution))
        for resolution in ResolutionKind
        for conflict in conflicts
    }
    results = {
        resolution: _ApplyResult(conflict_row, [edits[conflict.path, resolution] for conflict in conflicts])
        for resolution in ResolutionKind
    }
    for conflict in conflicts:
        yield (
            conflict,
            tuple(results[r].read_option(conflict.path, r, edits[conflict.path, r]) for r in ResolutionKind),
        )


class _ApplyResult:
    """The object after a forced apply with edits, from which the options of many fields are read in linear time."""

    def __init__(self, conflict_row: FieldConflict, edits: Iterable[FileEdit | None]) -> None:
        manifest = edit_manifest(conflict_row.manifest, edits)
        result = conflict_row.apply(manifest, force=True)
        self._version = conflict_row.find_other_version()
        self._left = {c.path for c in conflict_row.find_conflicts(manifest)} if self._version else set()
        self._values = LeafFinder(conflict_row.kind.root, result)
        self._owners = read_owners(result)

    def read_option(self, path: FieldPath, resolution: ResolutionKind, edit: FileEdit | None) -> ResolutionOption:
        value = self._values.find(path)
        is_present = value is not MISSING
        is_left = edit is not None and path in self._left
        return ResolutionOption(
            resolution,
            value if is_present else None,
            is_present,
            self._owners.of(path),
            edit,
            is_possible=resolution is ResolutionKind.OVERWRITE or (edit is not None and not is_left),
            converted=self._version if is_left else "",
        )
