"""Add the notes of a planned change: the reason for each field, and the risks."""

from __future__ import annotations

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.patching import PATCH
from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.blocked_removals import BlockedRemoval, Intent, find_blocked_removals
from applyviz.engine.planning.model.plan import UNPLANNED, Certainty, Operation, PlannedObject, Versions
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.endings import note_ended
from applyviz.engine.planning.objects.progress import moved_live
from applyviz.engine.planning.objects.request_answerer import unknown_kind
from applyviz.engine.planning.objects.write_risks import add_write_risks, is_forced
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.requests.takeover import find_managers
from applyviz.engine.risks.conversion import CONVERSION_NOT_ASKED
from applyviz.engine.risks.model import Risk, RiskSubject
from applyviz.engine.risks.rules import find_risks
from applyviz.engine.risks.sentences import describe_risk


def _explain(
    change: PlannedObject,
    member: Member,
    document: ManifestDocument | None,
    options: ApplyOptions,
    memo: FieldSetMemo | None,
) -> tuple[FieldReason, ...]:
    versions = change.versions
    if change.operation is Operation.ERROR and versions.live is None:
        return ()  # nothing is created, so no field is set
    is_recreated = change.operation is Operation.REPLACE and versions.live is not None
    if is_recreated and versions.live is not None:
        # The server will choose values for the new object that are not known yet, so nothing explains them.
        versions = replace(versions, live=without_chosen(versions.live, versions.manifest or {}, None))
        versions = _without_status(versions)
    before = None if versions.live is None else read_owners(versions.live, memo)
    if versions.after is versions.live:
        after = before
    else:
        after = None if versions.after is None else read_owners(versions.after, memo)
    return explain(
        versions=versions,
        mode=PATCH if options.is_patching else options.mode,
        manager=options.field_manager,
        kind=member.kind,
        owners_before=before,
        owners_after=after,
        conflicts=change.conflicts,
        document=document,
        subresource=options.subresource,
        is_recreated=is_recreated,
    )


def _without_status(versions: Versions) -> Versions:
    """Return the versions of a replaced object without status: that of the old object goes, and no field changes it.

    - A status that the manifest sets stays: it is a field like others where the kind has no subresource for it.
    """
    if (versions.manifest or {}).get("status") is not None:
        return versions
    parts = {name: getattr(versions, name) for name in ("live", "merged", "after")}
    return replace(versions, **{n: {k: v for k, v in o.items() if k != "status"} for n, o in parts.items() if o})


def _find_patch(change: PlannedObject) -> JSONValue:
    """Return the body of the client-side patch, if one is sent."""
    for request in change.requests:
        if request.method == "PATCH" and request.content_type != APPLY_PATCH:
            body: JSONValue = request.body
            return body
    return None


def _list_versions(gvk: GroupVersionKind, context: PlanningContext) -> tuple[str, ...]:
    served = [r.gvk for r in context.catalog.list_resources() if (r.gvk.group, r.gvk.kind) == (gvk.group, gvk.kind)]
    return tuple(g.api_version for g in served)


def _find_blocked_removals(
    change: PlannedObject,
    member: Member,
    reasons: tuple[FieldReason, ...],
    options: ApplyOptions,
    context: PlanningContext,
) -> tuple[BlockedRemoval, ...]:
    versions = change.versions
    if options.mode is not ApplyMode.SERVER or versions.live is None or versions.manifest is None:
        return ()
    kind = member.kind or unknown_kind(member)
    intent = Intent(moved_live(change) or {}, versions.manifest, kind, member, options.field_manager, context.now)
    return tuple(find_blocked_removals(intent, reasons))


def _explain_conversion(change: PlannedObject) -> PlannedObject:
    """Return an estimated change with the note that another program converts between its versions."""
    unconverted = [h for h in change.risks if h.kind is CONVERSION_NOT_ASKED]
    if not unconverted or change.certainty is not Certainty.ESTIMATED:
        return change
    sentence = describe_risk(unconverted[0])
    return replace(
        change, certainty_reason=f"{change.certainty_reason}; {sentence[0].lower()}{sentence[1:].rstrip('.')}"
    )


def find_own_risks(document: ManifestDocument, context: PlanningContext) -> tuple[Risk, ...]:
    """Return the risks of a document whose object has no address in the cluster: those of its file and its version."""
    versions = _list_versions(document.ref.gvk, context)
    subject = RiskSubject(document.ref, manifest=document.obj, document=document, resource_versions=versions)
    return find_risks(subject)


def _is_absent(change: PlannedObject, options: ApplyOptions) -> bool:
    """Return whether the object that a patch or a record is meant for could not be read: nothing happens to it."""
    return change.operation is Operation.ERROR and change.versions.live is None and not options.is_applying


def add_notes(
    change: PlannedObject,
    member: Member,
    *,
    document: ManifestDocument | None,
    options: ApplyOptions,
    context: PlanningContext,
    memo: FieldSetMemo | None = None,
) -> PlannedObject:
    """Return the change with its risks and the reasons of its fields; a deletion has no reasons."""
    if change.is_ended:
        return note_ended(change, member, options=options, context=context)
    versions = change.versions
    is_taking = options.mode is ApplyMode.SERVER and not options.subresource
    taken = find_managers(versions.live, options) if is_taking and versions.live is not None else ()
    subject = RiskSubject(
        change.ref,
        manifest=versions.manifest,
        last_applied=versions.last_applied,
        live=versions.live,
        merged=versions.merged,
        after=versions.after,
        patch=_find_patch(change),
        is_server_side=options.mode is ApplyMode.SERVER,
        field_manager=options.field_manager,
        is_namespaced=member.resource.is_namespaced,
        kind=member.kind,
        document=document,
        related=context.related,
        applyset=context.applyset,
        resource_versions=_list_versions(member.resource.gvk, context),
        plural=member.resource.plural,
        taken_managers=taken,
        dry_run_answer=change.certainty_reason,
        is_refused=change.operation is Operation.ERROR,
        is_merge_only=change.operation in UNPLANNED,
        refused_fields=tuple(error.field for error in change.server_errors if not error.is_strict),
        is_unchanged=change.operation is Operation.UNCHANGED,
        is_forced=is_forced(change),
        is_accepted=change.operation is Operation.UPDATE and change.certainty is Certainty.CONFIRMED,
    )
    reasons = _explain(change, member, document, options, memo)
    blocked_removals = _find_blocked_removals(change, member, reasons, options, context)
    risks = () if _is_absent(change, options) else find_risks(subject)
    noted = replace(change, risks=risks, fields=reasons, blocked_removals=blocked_removals)
    return _explain_conversion(add_write_risks(noted, own=(options.field_manager, *taken), options=options))
