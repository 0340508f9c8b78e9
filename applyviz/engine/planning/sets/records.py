"""Plan a set whose objects get another record and no other value: last-applied is set, or managedFields are cleared.

Rule: `kubectl apply set-last-applied` (and `edit-last-applied`, whose editor the review page is), and
https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields. An object that does not exist
is an error of its row. What the record costs is a risk: it shows at a later apply.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.explain.reasons import FieldReason, Reason
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.known_names import LAST_APPLIED, LAST_APPLIED_PATH, NAMING
from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.ownership_risks import name_fields
from applyviz.engine.planning.objects.planner import plan_member, plan_placed
from applyviz.engine.requests.annotating import clear_ownership, set_last_applied
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, FlowOutcome
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
from applyviz.engine.risks.repeating import REPEATING_PATCH
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER
from applyviz.engine.schema.walk import list_leaves

# What these rules say is about an apply of a manifest, and none is applied here.
_OF_APPLIES = (NO_LAST_APPLIED, REPEATING_PATCH, BELONGS_TO_OTHER, PODS_RESTART)

# kubectl apply writes this empty map into the annotation whether or not the manifest has it.
_NOT_LISTED = NAMING | {fields("metadata", "annotations")}


def _name(member: Member, annotations: dict[str, str]) -> JSONObject:
    """Return the part of an object that is written: its name, and the annotations if there are any."""
    metadata = {"name": member.ref.name, **({"namespace": member.namespace} if member.namespace else {})}
    gvk = member.resource.gvk
    found = {**metadata, "annotations": annotations} if annotations else metadata
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": found}


def _list_paths(member: Member, obj: JSONObject) -> dict[FieldPath, None]:
    """Return the leaves of an object, without those that only name it."""
    leaves = list_leaves(member.kind.root if member.kind else None, obj)
    return dict.fromkeys(path for path in leaves if path and path not in _NOT_LISTED)


def _find_changes(member: Member, live: JSONObject | None) -> Iterator[Risk]:
    """Yield which fields last-applied forgets, and which it has from now on."""
    try:
        before = last_applied.find(live or {}) or {}
    except MergeError:
        before = {}
    text = last_applied.render_as_given(member.obj)
    after = last_applied.find({"metadata": {"annotations": {LAST_APPLIED: text}}}) or {}
    old, new = (_list_paths(member, obj) for obj in (before, after))
    named = {"unlisted": [path for path in old if path not in new], "listed": [path for path in new if path not in old]}
    for how, found in named.items():
        if found:
            yield OWNERSHIP_MOVED.at(facts={"how": how, "fields": name_fields(found)})


def _find_cleared(live: JSONObject | None) -> Iterator[Risk]:
    managers = dict.fromkeys(str(entry.get("manager")) for entry in find_entries(live or {}) or ())
    yield OWNERSHIP_MOVED.at(facts={"how": "cleared", "managers": ", ".join(managers)}, level=RiskLevel.HIGH)


def _explain_record(reason: FieldReason) -> FieldReason:
    """Return the reason of last-applied where it is what a review sets, not the record of an apply."""
    return replace(reason, reason=Reason.MANIFEST_SETS) if reason.path == LAST_APPLIED_PATH else reason


def _plan_member(
    member: Member, document: ManifestDocument, options: ApplyOptions, context: PlanningContext
) -> Flow[PlannedObject]:
    is_setting = options.action is SetAction.SET_LAST_APPLIED

    def start(one: Member, options: ApplyOptions, _context: PlanningContext) -> Flow[FlowOutcome]:
        target = RequestTarget(one.resource, one.namespace, one.ref.name, options)
        return set_last_applied(target, member.obj) if is_setting else clear_ownership(target)

    annotations = {LAST_APPLIED: last_applied.render_as_given(member.obj)} if is_setting else {}
    named = replace(member, obj=_name(member, annotations))
    options = replace(options, mode=ApplyMode.CLIENT, is_replacing_on_error=False)
    change = yield from plan_member(named, options=options, context=context, document=document, start=start)
    kept = tuple(risk for risk in change.risks if risk.kind not in _OF_APPLIES)
    versions = replace(change.versions, last_applied=None)
    if any(request.content_type == JSON_PATCH for request in change.requests):
        change = replace(change, method="JSON patch")
    if not context.has_notes or change.operation is not Operation.UPDATE:
        return replace(change, risks=kept, versions=versions)
    live = versions.live
    found = _find_changes(member, live) if is_setting else _find_cleared(live)
    reasons = tuple(map(_explain_record, change.fields)) if is_setting else change.fields
    return replace(change, risks=(*found, *kept), versions=versions, fields=reasons)


def plan_record(document: ManifestDocument, *, options: ApplyOptions, context: PlanningContext) -> Flow[PlannedObject]:
    """Plan the record of the object that a document names; problems become part of the change."""
    return plan_placed(document, _plan_member, options=options, context=context)
