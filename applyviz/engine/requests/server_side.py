"""Server-side apply of one object: one apply patch, then the migration if one is due.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. kubectl sends without reading; with
preconditions the object is read first, the fields that client-side apply owns are taken over, and the patch is bound to
the object, or to its absence.
"""

from __future__ import annotations

from applyviz.engine.merge.last_applied import ANNOTATION
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.deletion import delete_and_wait
from applyviz.engine.requests.flow import Deletion, Flow, FlowOutcome, Verb, is_invalid, is_not_found, refusal, send
from applyviz.engine.requests.migrate import migrate_if_needed
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyOptions
from applyviz.engine.requests.takeover import move_ownership
from applyviz.engine.schema.model import KindSchema, Resource


def _read_live(target: RequestTarget) -> Flow[JSONObject | None]:
    answer = yield target.read()
    if is_not_found(answer):
        return None
    if not answer.is_ok:
        raise refusal(target.read(), answer)
    return dict(answer.body)


def apply_server_side(
    obj: JSONObject,
    *,
    resource: Resource,
    options: ApplyOptions,
    kind: KindSchema | None = None,
    deletion: Deletion | None = None,
) -> Flow[FlowOutcome]:
    """Apply one object server-side.

    - Without preconditions this is kubectl's own flow: ownership moves after the apply.
    - With replacement on error (ours; kubectl has none here) an invalid change deletes and creates the object.
    - Raises `AnswerError` if the server refuses; conflicts are in its answer.
    """
    metadata = obj.get("metadata") or {}
    namespace = (metadata.get("namespace") or "") if resource.is_namespaced else ""
    target = RequestTarget(resource, namespace, metadata.get("name") or "", options)
    if not options.has_preconditions:
        return (yield from _apply_as_kubectl(target, obj))
    obj = _without_annotation(obj) if options.field_manager == SERVER_SIDE_MANAGER else obj
    live = yield from _read_live(target)
    bound = None if live is None else (yield from move_ownership(target, live, kind, obj))
    request = target.apply(obj, bound)
    answer = yield request
    if options.is_replacing_on_error and live is not None and is_invalid(answer):
        yield from delete_and_wait(target, live, deletion or Deletion())
        answer = yield from send(target.apply(obj, None))
    elif not answer.is_ok:
        raise refusal(request, answer)
    return FlowOutcome(Verb.APPLIED, dict(answer.body), live, answer.warnings)


def _apply_as_kubectl(target: RequestTarget, obj: JSONObject) -> Flow[FlowOutcome]:
    answer = yield from send(target.apply(obj, None))
    result, warnings = yield from migrate_if_needed(target, obj, dict(answer.body))
    return FlowOutcome(Verb.APPLIED, result, None, answer.warnings + warnings)


def _without_annotation(obj: JSONObject) -> JSONObject:
    """Return the manifest without last-applied: for `kubectl`, the server writes the whole request into it."""
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if ANNOTATION not in annotations:
        return obj
    kept = {name: text for name, text in annotations.items() if name != ANNOTATION}
    others = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**obj, "metadata": {**others, "annotations": kept} if kept else others}
