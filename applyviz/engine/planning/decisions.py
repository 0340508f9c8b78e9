"""Decisions on conflicts: three ways out of each, what each would give, and the request that follows.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts. Force is a property of a whole
request, so leaving a field to its owner and keeping the live value edit the body; force is sent only when every
conflict that is left was decided as *take over*. What a decision changes goes home as an edit of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from applyviz.engine.objects.errors import Conflict, ConflictError, PlanError
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json
from applyviz.engine.ownership import serverside
from applyviz.engine.ownership.managedfields import read_owners
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
class FileEdit:
    """The edit that makes a decision last: what the file says, and what it should say (`is_removed`: nothing)."""

    path: FieldPath
    before: JSONValue
    after: JSONValue = None
    is_removed: bool = False


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
    """One way out of one conflict, shown as its result: the field's value and its owners afterwards."""

    way: Way
    value: JSONValue
    is_present: bool
    owners: tuple[Owner, ...]
    edit: FileEdit | None = None


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
        result: JSONObject = serverside.apply(
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


def _is_entry(item: JSONValue, element: PathElement) -> bool:
    wanted = element_value(element)
    if element.startswith("v:"):
        return is_same_json(item, wanted)
    return isinstance(item, Mapping) and all(k not in item or is_same_json(item[k], v) for k, v in wanted.items())


def _find_step(value: JSONValue, element: PathElement) -> str | int | None:
    """The key or index that an element names in a value, None when it names nothing there."""
    if isinstance(value, dict):
        name = element[2:]
        return name if element.startswith("f:") and name in value else None
    if not isinstance(value, list):
        return None
    if element.startswith("i:"):
        index = int(element_value(element))
        return index if index < len(value) else None
    return next((n for n, item in enumerate(value) if _is_entry(item, element)), None)


def _list_places(value: JSONValue, path: FieldPath) -> list[tuple[JSONValue, str | int]]:
    """Each container on the way to a path, with the step taken in it; shorter when the way ends."""
    places: list[tuple[JSONValue, str | int]] = []
    for element in path:
        step = _find_step(value, element)
        if step is None:
            break
        places.append((value, step))
        value = value[step]
    return places


def _remove(manifest: JSONObject, path: FieldPath) -> JSONObject:
    """The manifest without a field, and without the maps and lists that only held it."""
    edited = clone(dict(manifest))
    places = _list_places(edited, path)
    if len(places) < len(path):
        return manifest
    for container, step in reversed(places):
        del container[step]
        if container:
            break
    return dict(edited)


def _set(manifest: JSONObject, path: FieldPath, value: JSONValue) -> JSONObject:
    """The manifest with another value for a field that it names."""
    edited = clone(dict(manifest))
    container, step = _list_places(edited, path)[-1]
    container[step] = clone(value)
    return dict(edited)


def _find_edit(dispute: Dispute, decision: Decision) -> FileEdit | None:
    """What a decision changes in the file; taking over changes nothing."""
    places = _list_places(dispute.manifest, decision.path)
    if decision.way is Way.TAKE_OVER or len(places) < len(decision.path):
        return None
    container, step = places[-1]
    before = container[step]
    live = find_value(dispute.kind.root, dispute.live, decision.path)
    if decision.way is Way.LEAVE or live is MISSING:
        return FileEdit(decision.path, before, is_removed=True)
    return FileEdit(decision.path, before, live)


def _edit(manifest: JSONObject, edit: FileEdit | None) -> JSONObject:
    if edit is None:
        return manifest
    return _remove(manifest, edit.path) if edit.is_removed else _set(manifest, edit.path, edit.after)


def apply_decisions(dispute: Dispute, decisions: Iterable[Decision]) -> Decided:
    """Carry decisions out on a manifest, as far as they go.

    - Two different ways for one field are a `PlanError`.
    """
    ways: dict[FieldPath, Way] = {}
    edits: dict[FieldPath, FileEdit] = {}
    manifest = dispute.manifest
    for decision in decisions:
        if ways.setdefault(decision.path, decision.way) is not decision.way:
            raise PlanError(f"{render_path(decision.path)} was decided in two ways")
        edit = _find_edit(dispute, decision)
        manifest = _edit(manifest, edit)
        if edit is not None:
            edits[edit.path] = edit
    left = dispute.find_conflicts(manifest)
    open_conflicts = tuple(c for c in left if ways.get(c.path) is not Way.TAKE_OVER)
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
            edited = _remove(edited, conflict.path)
        if edited == manifest:
            return None
        manifest, conflicts = edited, dispute.find_conflicts(edited)
    return dispute.apply(manifest, force=False)


def list_ways(dispute: Dispute, conflict: Conflict) -> tuple[WayOut, ...]:
    """The three ways out of one conflict, each with what it gives, whatever is decided of the others."""
    return tuple(_show_way(dispute, Decision(conflict.path, conflict.manager, way)) for way in Way)


def _show_way(dispute: Dispute, decision: Decision) -> WayOut:
    edit = _find_edit(dispute, decision)
    result = dispute.apply(_edit(dispute.manifest, edit), force=True)
    value = find_value(dispute.kind.root, result, decision.path)
    is_present = value is not MISSING
    owners = read_owners(result).of(decision.path)
    return WayOut(decision.way, value if is_present else None, is_present, owners, edit)
