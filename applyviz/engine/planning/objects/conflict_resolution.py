"""Resolve the conflicts of one object: first by resolutions of people, then by conflict rules.

Each field that stays open shows its options with their results; each resolution has its edit of the file. Rule:
https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import Conflict, OwnershipError
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch, describe_edit, make_patch
from applyviz.engine.planning.conflicts.resolutions import (
    EditFinder,
    FieldConflict,
    FieldResolutions,
    ResolutionChoice,
    ResolutionOption,
    ResolvedField,
    ResolvedManifest,
    apply_decisions,
    list_common_resolutions,
    list_resolutions,
)
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.conflict_rules import answer_conflicts, leave_owned
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.progress import moved_live
from applyviz.engine.planning.objects.request_answerer import unknown_kind
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions

# An option costs one apply, a patch one more parse of the file. An object with more conflicting fields than this gets
# options for all fields together, and one patch for all resolutions; the code below marks both cases.
_ONE_BY_ONE = 40
_MOST_EDITS = 200


class ResolvedConflicts(Struct, frozen=True):
    """The outcome for the conflicts of one object; `manifest` is sent if none is open."""

    manifest: JSONObject
    takes_over: bool
    answers: tuple[ResolvedField, ...]
    is_open: bool = False
    open_fields: tuple[FieldResolutions, ...] = ()
    patch: FilePatch | None = None


class Case(Struct, frozen=True):
    """One planned object, with everything that resolves its conflicts."""

    change: PlannedObject
    member: Member
    document: ManifestDocument
    options: ApplyOptions
    context: PlanningContext

    @property
    def conflict_row(self) -> FieldConflict:
        """The conflicting apply."""
        return FieldConflict(
            moved_live(self.change) or {},
            self.member.obj,
            self.member.kind or unknown_kind(self.member),
            self.options.field_manager,
            self.context.now,
            self.options.subresource,
        )

    def make_patch(self, edits: Sequence[FileEdit], *, keeps_text: bool = False) -> FilePatch | None:
        """Return the edits in the lines of the file; None if its text is not available."""
        if not self.context.sources:
            return None
        return make_patch(edits, document=self.document, sources=self.context.sources, keeps_text=keeps_text)

    def list_answers(self) -> list[tuple[ResolutionChoice, int]]:
        """Return the resolutions for this object with the number of the rule that made each, 0 for a person."""
        change, rules = self.change, [r for r in self.context.rules if r.covers(self.change.ref)]
        if change.operation is not Operation.BLOCKED:
            found = leave_owned(rules, self.member.obj, change.versions.live or {}, you=self.options.field_manager)
            return list({decision.path: (decision, rule) for decision, rule in found}.values())
        decided = [(decision, 0) for decision in self.context.decisions.get(change.ref.key, ())]
        paths = {decision.path for decision, _rule in decided}
        return [*decided, *answer_conflicts(rules, [c for c in change.conflicts if c.path not in paths])]


def _present_answers(
    case: Case, conflict_row: FieldConflict, answers: Sequence[tuple[ResolutionChoice, int]]
) -> tuple[ResolvedField, ...]:
    found, finder = [], EditFinder(conflict_row)
    for count, (decision, rule) in enumerate(answers):
        edit = finder.find(decision)
        is_only = len(answers) == 1
        patch = case.make_patch([edit], keeps_text=is_only) if edit and count < _ONE_BY_ONE else None
        found.append(ResolvedField(decision.path, decision.manager, decision.resolution, rule, edit, patch))
    return tuple(found)


def _list_open_fields(
    case: Case, conflict_row: FieldConflict, conflicts: Sequence[Conflict]
) -> tuple[FieldResolutions, ...]:
    by_path: dict[FieldPath, list[Conflict]] = {}
    for conflict in conflicts:
        by_path.setdefault(conflict.path, []).append(conflict)
    first = [same[0] for same in by_path.values()]
    if len(first) > _ONE_BY_ONE:
        together = list_common_resolutions(conflict_row, first)
        found = {c.path: tuple(_postpone_patch(case, option) for option in options) for c, options in together}
    else:
        found = {
            c.path: tuple(_with_patch(case, option) for option in list_resolutions(conflict_row, c)) for c in first
        }
    return tuple(FieldResolutions(path, tuple(c.manager for c in same), found[path]) for path, same in by_path.items())


def _postpone_patch(case: Case, option: ResolutionOption) -> ResolutionOption:
    if option.edit is None or not case.context.sources:
        return option
    reason = (
        f"More than {_ONE_BY_ONE} fields of this object are disputed: the edit is offered for all of them at once, "
        f"when they are decided. {describe_edit(option.edit)}"
    )
    return replace(option, patch=FilePatch(case.document.position, reason=reason))


def _with_patch(case: Case, option: ResolutionOption) -> ResolutionOption:
    return replace(option, patch=case.make_patch([option.edit])) if option.edit else option


def _refuse_patch(case: Case, edits: Sequence[FileEdit]) -> FilePatch | None:
    if len(edits) <= _MOST_EDITS or not case.context.sources:
        return None
    reason = f"{len(edits)} edits are too many for one patch: take the request body as the new text of the object."
    return FilePatch(case.document.position, reason=reason)


def _merge_answers(case: Case, answers: Sequence[tuple[ResolutionChoice, int]]) -> ResolvedConflicts:
    conflict_row = case.conflict_row
    decided: ResolvedManifest = apply_decisions(conflict_row, [decision for decision, _rule in answers])
    known = _present_answers(case, conflict_row, answers)
    if decided.open_conflicts:
        open_fields = _list_open_fields(case, conflict_row, decided.open_conflicts)
        return ResolvedConflicts(case.member.obj, False, known, is_open=True, open_fields=open_fields)
    edits = list({a.path: a.edit for a in known if a.edit}.values())
    has_patch = 1 < len(edits) <= _MOST_EDITS
    patch = case.make_patch(edits, keeps_text=True) if has_patch else _refuse_patch(case, edits)
    return ResolvedConflicts(decided.manifest, decided.takes_over, known, patch=patch)


def resolve_conflicts(case: Case) -> ResolvedConflicts | None:
    """Return the outcome for the conflicts of an object; None if there is nothing to resolve.

    - A conflict that the server understands and the engine does not has no options, and stays open.
    """
    change = case.change
    if case.options.mode is not ApplyMode.SERVER or change.versions.live is None:
        return None
    answers = case.list_answers()
    if change.operation is not Operation.BLOCKED and not answers:
        return None
    with suppress(OwnershipError):
        return _merge_answers(case, answers)
    return None


def note_resolved(change: PlannedObject, resolved: ResolvedConflicts) -> PlannedObject:
    """Return the change with its resolutions, and the options of its open conflicts."""
    return replace(change, answers=resolved.answers, open_fields=resolved.open_fields, patch=resolved.patch)
