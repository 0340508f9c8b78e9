"""Plan an object that people left out: nothing is sent; its row says why, and whether the object exists."""

from __future__ import annotations

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.planning.model.plan import Certainty, LeftOut, Operation, PlannedObject, Versions
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, is_not_found
from applyviz.engine.requests.members import place_member
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.hooks import describe_hook

_STATES = {
    True: "it does not change in the cluster",
    False: "it does not exist in the cluster",
    None: "whether it exists in the cluster is unknown",
}


def plan_left_out(
    document: ManifestDocument, *, options: ApplyOptions, context: PlanningContext
) -> Flow[PlannedObject]:
    """Plan one document that is left out; only its existence is read, and nothing of the live object is kept."""
    ref, exists = document.ref, None
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
    except ManifestError:
        pass  # the cluster does not know its kind: that may be why it is left out
    else:
        ref = member.ref
        answer = yield RequestTarget(member.resource, ref.namespace, ref.name, options).read()
        if answer.is_ok or is_not_found(answer):
            exists = answer.is_ok
    return PlannedObject(
        ref=ref,
        operation=Operation.LEFT_OUT,
        versions=Versions(manifest=document.obj),
        certainty=Certainty.CONFIRMED,
        certainty_reason=f"nothing is sent: {_STATES[exists]}",
        method="none",
        risks=tuple(describe_hook(document.obj, is_left_out=True, position=document.position)),
        position=document.position,
        end_line=document.end_line,
        left_out=LeftOut(options.left_out_reason, exists),
    )
