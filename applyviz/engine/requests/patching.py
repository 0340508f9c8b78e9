"""Send a patch that a person wrote to one live object, as `kubectl patch` does.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/. The object is read
first and must exist; the body is sent as written, bound to the object that was read. The result is an Update entry of
the field manager, and last-applied does not change. A patch of the scale subresource answers with a Scale.
"""

from __future__ import annotations

from applyviz.engine.manifests.documents import ObjectPatch, PatchType
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, FlowOutcome, Verb, send

CONTENT_TYPES = {
    PatchType.STRATEGIC: STRATEGIC_MERGE_PATCH,
    PatchType.MERGE: MERGE_PATCH,
    PatchType.JSON: JSON_PATCH,
}


def patch_object(target: RequestTarget, patch: ObjectPatch) -> Flow[FlowOutcome]:
    """Patch one live object.

    - Raises `AnswerError` if the object does not exist, or the server refuses.
    """
    answer = yield from send(target.read())
    live = dict(answer.body)
    written = yield from send(target.patch_as_written(patch.body, CONTENT_TYPES[patch.type], live))
    return FlowOutcome(Verb.PATCHED, dict(written.body), live, written.warnings)
