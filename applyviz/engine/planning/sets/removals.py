"""Plan a set whose objects are deleted: each document names an object, and its other content counts for nothing.

Rule: `kubectl delete -f --ignore-not-found`. An object that does not exist is a row without a request. kubectl deletes
in the order of the files; here the order of an apply is reversed (`order.py`), and each step waits for the one before,
so that controllers are there until the finalizers of their objects are removed. The result is the same.
"""

from __future__ import annotations

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.planner import fail_document, plan_placed
from applyviz.engine.planning.objects.write_risks import name_object
from applyviz.engine.planning.sets.prune import plan_deletion
from applyviz.engine.planning.simulation.dry_run_result import describe_refusal
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, is_not_found
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.prune import Prunable
from applyviz.engine.risks.deletions import find_unfiled

NOT_FOUND = "the object does not exist: nothing is sent"


def _report_unread(ref: ObjectRef, document: ManifestDocument, answer: Answer) -> PlannedObject:
    """Return the change of an object that is absent, or could not be read."""
    if not is_not_found(answer):
        reason = f"the live object could not be read: {describe_refusal(answer)}"
        return replace(fail_document(document, reason), ref=ref, refusal=Refusal(answer.status, answer.reason))
    return PlannedObject(
        ref=ref,
        operation=Operation.NOT_FOUND,
        versions=Versions(manifest=document.obj),
        certainty=Certainty.CONFIRMED,
        certainty_reason=NOT_FOUND,
        method="none",
    )


def _plan_member(
    member: Member, document: ManifestDocument, options: ApplyOptions, context: PlanningContext
) -> Flow[PlannedObject]:
    ref = member.ref
    answer = yield RequestTarget(member.resource, ref.namespace, ref.name, options).read()
    if not answer.is_ok:
        return _report_unread(ref, document, answer)
    live: JSONObject = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, **answer.body}
    risks = find_unfiled(name_object(ref), live, member.obj)
    found = Prunable(member.resource, ref.namespace, live)
    change = yield from plan_deletion(found, options=options, context=context, risks=risks)
    is_refused = change.operation is Operation.ERROR
    return change if is_refused else replace(change, operation=Operation.DELETE)


def plan_removal(document: ManifestDocument, *, options: ApplyOptions, context: PlanningContext) -> Flow[PlannedObject]:
    """Plan the deletion of the object that a document names; problems become part of the change."""
    return plan_placed(document, _plan_member, options=options, context=context)
