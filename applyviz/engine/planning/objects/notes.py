"""Add the notes of a planned change: the reason for each field, and the risks."""

from __future__ import annotations

from dataclasses import replace

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.blocked_removals import Intent, Release, find_releases
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.planning.objects.context import PlanContext
from applyviz.engine.planning.objects.progress import moved_live
from applyviz.engine.planning.objects.request_answerer import unknown_kind
from applyviz.engine.planning.objects.write_risks import add_write_risks
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.requests.takeover import find_managers
from applyviz.engine.risks.model import Risk, RiskKind, RiskSubject
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
    if change.operation is Operation.REPLACE and versions.live is not None:
        # The server will choose values for the new object that are not known yet, so nothing explains them.
        versions = replace(versions, live=without_chosen(versions.live, versions.manifest or {}, None))
    before = None if versions.live is None else read_owners(versions.live, memo)
    if versions.after is versions.live:
        after = before
    else:
        after = None if versions.after is None else read_owners(versions.after, memo)
    return explain(
        versions=versions,
        mode=options.mode,
        manager=options.field_manager,
        kind=member.kind,
        owners_before=before,
        owners_after=after,
        conflicts=change.conflicts,
        document=document,
        subresource=options.subresource,
    )


def _find_patch(change: PlannedObject) -> object:
    """Return the body of the client-side patch, if one is sent."""
    for request in change.requests:
        if request.method == "PATCH" and request.content_type != APPLY_PATCH:
            return request.body
    return None


def _list_versions(gvk: GroupVersionKind, context: PlanContext) -> tuple[str, ...]:
    served = [r.gvk for r in context.catalog.list_resources() if (r.gvk.group, r.gvk.kind) == (gvk.group, gvk.kind)]
    return tuple(g.api_version for g in served)


def _find_releases(
    change: PlannedObject,
    member: Member,
    reasons: tuple[FieldReason, ...],
    options: ApplyOptions,
    context: PlanContext,
) -> tuple[Release, ...]:
    versions = change.versions
    if options.mode is not ApplyMode.SERVER or versions.live is None or versions.manifest is None:
        return ()
    kind = member.kind or unknown_kind(member)
    intent = Intent(moved_live(change) or {}, versions.manifest, kind, member, options.field_manager, context.now)
    return tuple(find_releases(intent, reasons))


def _tell_conversion(change: PlannedObject) -> PlannedObject:
    """Return an estimated change with the note that another program converts between its versions."""
    told = [h for h in change.risks if h.kind is RiskKind.CONVERSION_NOT_ASKED]
    if not told or change.certainty is not Certainty.ESTIMATED:
        return change
    said = describe_risk(told[0])
    return replace(change, certainty_reason=f"{change.certainty_reason}; {said[0].lower()}{said[1:].rstrip('.')}")


def find_own_risks(document: ManifestDocument, context: PlanContext) -> tuple[Risk, ...]:
    """Return the risks of a document whose object has no address in the cluster: those of its file and its version."""
    versions = _list_versions(document.ref.gvk, context)
    subject = RiskSubject(document.ref, manifest=document.obj, document=document, resource_versions=versions)
    return find_risks(subject)


def add_notes(
    change: PlannedObject,
    member: Member,
    *,
    document: ManifestDocument | None,
    options: ApplyOptions,
    context: PlanContext,
    memo: FieldSetMemo | None = None,
) -> PlannedObject:
    """Return the change with its risks and the reasons of its fields."""
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
    )
    reasons = _explain(change, member, document, options, memo)
    releases = _find_releases(change, member, reasons, options, context)
    noted = replace(change, risks=find_risks(subject), fields=reasons, releases=releases)
    return _tell_conversion(add_write_risks(noted, own=(options.field_manager, *taken)))
