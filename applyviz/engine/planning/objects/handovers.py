"""Give fields of a manifest to other managers, or take them from others: the file edit that does the same is offered.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership and
https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ (migrating Deployments to autoscaling). The
requests keep the value: server-side another manager owns a given field first, client-side last-applied forgets it. A
taken field gets its live value in the manifest; server-side its former owner gives it up before the apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.lookups import ABSENT, drop_field, find_value, put_field
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import is_same_json
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch, make_patch
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolvedField
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyOptions, Handover, TakenField


class ManifestChange(Struct, frozen=True):
    """An object whose manifest gives up or takes fields, and the edits of the file that do the same."""

    member: Member
    edits: tuple[tuple[Handover | TakenField, FileEdit], ...] = ()
    fields: tuple[TakenField, ...] = ()

    def list_kept(self) -> tuple[TakenField, ...]:
        """Return the taken fields that the manifest sets; others would be removed by the apply, so they stay."""
        return tuple(one for one in self.fields if find_value(self.member.obj, one.path) is not ABSENT)


def _make_patch(
    edits: Sequence[FileEdit], document: ManifestDocument, context: PlanningContext, *, keeps_text: bool
) -> FilePatch | None:
    if not context.sources:
        return None
    return make_patch(edits, document=document, sources=context.sources, keeps_text=keeps_text)


def note_edits(
    change: PlannedObject,
    edits: Iterable[tuple[Handover | TakenField, FileEdit]],
    document: ManifestDocument,
    context: PlanningContext,
) -> PlannedObject:
    """Return the change with an answer for each field that the file does not yet set as planned."""
    found_edits = tuple(edits)
    is_only = len(found_edits) == 1 and not change.answers
    answers = tuple(
        ResolvedField(
            edit.path,
            one.manager,
            ResolutionKind.GIVE_UP if edit.is_removed else ResolutionKind.SHARE,
            edit=edit,
            patch=_make_patch([edit], document, context, keeps_text=is_only),
        )
        for one, edit in found_edits
    )
    if not answers:
        return change
    found = replace(change, answers=(*change.answers, *answers))
    every = [answer.edit for answer in found.answers if answer.edit is not None]
    return found if len(every) < 2 else replace(found, patch=_make_patch(every, document, context, keeps_text=True))


def give_up_fields(member: Member, options: ApplyOptions) -> ManifestChange:
    """Return an object without the fields that the options hand over to other managers."""
    obj = member.obj
    edits = []
    for one in options.list_handovers(member.ref.key):
        value = find_value(obj, one.path)
        if value is not ABSENT:
            obj = drop_field(obj, one.path)
            edits.append((one, FileEdit(one.path, value, is_removed=True)))
    return ManifestChange(replace(member, obj=obj), tuple(edits))


def refuse_new(change: PlannedObject) -> PlannedObject:
    """Return the error of an object that gives up fields and does not exist: it would be created without them."""
    text = "the object does not exist yet, so no field has a value to keep"
    return PlannedObject(
        change.ref,
        Operation.ERROR,
        replace(change.versions, merged=None, after=None),
        certainty=Certainty.NONE,
        certainty_reason=text,
        schema_origin=change.schema_origin,
        error=text,
    )


def take_fields(member: Member, options: ApplyOptions) -> Flow[ManifestChange]:
    """Return an object with the live values of the fields that the options take into its manifest.

    - Values of Secrets are never taken: a manifest must not get a value that its author may not read.
    """
    taken = options.list_taken(member.ref.key)
    if not any(one.is_live for one in taken) or names_secret(member.ref.gvk.kind):
        return ManifestChange(member, fields=tuple(one for one in taken if not one.is_live))
    answer = yield RequestTarget(member.resource, member.ref.namespace, member.ref.name, options).read()
    live = answer.body if answer.is_ok else None
    obj, edits = member.obj, []
    for one in taken:
        value, before = find_value(live, one.path), find_value(obj, one.path)
        if not one.is_live or value is ABSENT or (before is not ABSENT and is_same_json(value, before)):
            continue
        found = put_field(obj, one.path, value)
        if found is not ABSENT:
            is_new = before is ABSENT
            obj, edit = found, FileEdit(one.path, None if is_new else before, value, is_added=is_new)
            edits.append((one, edit))
    return ManifestChange(replace(member, obj=obj), tuple(edits), taken)
