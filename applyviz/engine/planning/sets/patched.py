"""Plan a set whose objects are patched: each patch document names a live object, and its body is sent as written.

Rule: `kubectl patch`. A document that is no patch is an error of its row, and so is a patch in a set that is applied or
deleted: which of the two a file is meant for is never guessed. An object that does not exist is an error, because a
patch creates nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.manifests.documents import ManifestDocument, ObjectPatch, PatchType
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import ManifestError, MergeError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Versions
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.planner import plan_member
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, FlowOutcome
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Replacement
from applyviz.engine.requests.patching import patch_object
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.model import Risk
from applyviz.engine.risks.planning.ownership import PATCHES_APPLIED
from applyviz.engine.risks.repeating import REPEATING_PATCH
from applyviz.engine.risks.rules import sort_risks
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.scaling import take_scale

NO_PATCH = "this review patches objects, and the document is no patch: it must be of kind Patch, without apiVersion"
A_PATCH = "the document is a patch, which only a review with the operation Patch sends"
METHODS = {
    PatchType.STRATEGIC: "strategic merge patch",
    PatchType.MERGE: "JSON merge patch",
    PatchType.JSON: "JSON patch",
}
# They are about what the next apply of the same manifest does; a patch is sent once.
_OF_APPLIES = (NO_LAST_APPLIED, REPEATING_PATCH)
_SHOWN = 3


def refuse_document(document: ManifestDocument, reason: str) -> PlannedObject:
    """Return the row of a document that its review cannot use."""
    return PlannedObject(
        ref=document.ref,
        operation=Operation.ERROR,
        versions=Versions(manifest=document.obj),
        certainty=Certainty.NONE,
        certainty_reason=reason,
        error=reason,
        position=document.position,
        end_line=document.end_line,
    )


def refuse(document: ManifestDocument, reason: str) -> Flow[PlannedObject]:
    """Return `refuse_document` as a flow, which sends nothing."""
    yield from ()
    return refuse_document(document, reason)


def _as_sent(member: Member, patch: ObjectPatch) -> Member:
    """Return the member with the values of a patch where the object has them: a Scale names the replica count."""
    if patch.subresource != "scale" or member.kind is None:
        return member
    obj: JSONObject = {name: member.obj[name] for name in ("apiVersion", "kind", "metadata")}
    if get_at(member.obj, ("spec", "replicas")) is not None:
        obj = take_scale(obj, member.obj, member.kind)
    return replace(member, obj=obj)


def _list_appliers(reason: FieldReason, applied: FieldFinder) -> list[str]:
    """Return the field managers that apply a field from a manifest."""
    found = [owner.manager for owner in reason.owners_before if owner.operation == "Apply"]
    is_in_last_applied = applied.find(reason.path) is not ABSENT
    return [*found, "client-side apply"] if is_in_last_applied else found


def _find_applied_fields(change: PlannedObject, own: str) -> Iterable[Risk]:
    """Yield the risk of fields that others apply: their next apply sets the former values again, or conflicts."""
    try:
        applied = FieldFinder(last_applied.find(change.versions.live or {}))
    except MergeError:
        applied = FieldFinder(None)
    fields, owners = [], []
    for reason in change.fields:
        appliers = _list_appliers(reason, applied) if reason.operation in CHANGING else []
        if appliers:
            fields.append(render_path(reason.path).lstrip("."))
            owners += [name for name in appliers if name != own]
    if not owners:
        return
    more = [f"{len(fields) - _SHOWN} more"] if len(fields) > _SHOWN else []
    facts = {"fields": ", ".join([*fields[:_SHOWN], *more]), "owners": ", ".join(dict.fromkeys(owners))}
    yield PATCHES_APPLIED.at(facts=facts)


def _finish(change: PlannedObject, document: ManifestDocument, patch: ObjectPatch, manager: str) -> PlannedObject:
    risks = [risk for risk in change.risks if risk.kind not in _OF_APPLIES]
    return replace(
        change,
        versions=replace(change.versions, last_applied=None),
        risks=sort_risks([*risks, *_find_applied_fields(change, manager)]),
        method=METHODS[patch.type],
        subresource=patch.subresource,
        position=document.position,
        end_line=document.end_line,
    )


def _check_subresource(member: Member, patch: ObjectPatch) -> None:
    if patch.subresource and patch.subresource not in member.resource.subresources:
        raise ManifestError(f"{member.resource.plural} have no subresource {patch.subresource}")


def _read_definition(member: Member, patch: ObjectPatch) -> Flow[Member]:
    """Return the member with the definition of its kind where only that says which field the Scale counts.

    - Raises `ManifestError` if the definition cannot be read.
    """
    gvk = member.resource.gvk
    if patch.subresource != "scale" or member.kind is None or bundled().find_resource(gvk) is not None:
        return member
    path = make_path(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions", name=f"{member.resource.plural}.{gvk.group}"
    )
    answer = yield Request("GET", path, purpose="read")
    if not answer.is_ok:
        raise ManifestError(f"the definition of {gvk.kind} cannot be read, so its replica count is unknown")
    return replace(member, kind=replace(member.kind, definition=answer.body))


def plan_patch(document: ManifestDocument, *, options: ApplyOptions, context: PlanningContext) -> Flow[PlannedObject]:
    """Plan one patch document; problems become part of the change, nothing is raised."""
    patch = document.patch
    if patch is None:
        return refuse_document(document, NO_PATCH)
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
        _check_subresource(member, patch)
        member = yield from _read_definition(member, patch)
    except ManifestError as error:
        return refuse_document(document, error.reason)
    options = replace(
        options, mode=ApplyMode.CLIENT, subresource=patch.subresource, replacement=Replacement(), handovers=()
    )

    def start(member: Member, options: ApplyOptions, _context: PlanningContext) -> Flow[FlowOutcome]:
        ref = member.ref
        return patch_object(RequestTarget(member.resource, ref.namespace, ref.name, options), patch)

    found = _as_sent(member, patch)
    change = yield from plan_member(found, options=options, context=context, document=document, start=start)
    return _finish(change, document, patch, options.field_manager)
