"""Server-side apply of one object: one apply patch, then the migration if one is due.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. kubectl sends without reading; with
preconditions the object is read first, the fields that client-side apply owns are taken over, and the patch is bound to
the object, or to its absence. For the manager `kubectl`, last-applied follows by a write of its own.
"""

from __future__ import annotations

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.last_applied import has_record, renew
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.deletion import delete_and_wait
from applyviz.engine.requests.flow import Deletion, Flow, FlowOutcome, Verb, is_invalid, is_not_found, refusal, send
from applyviz.engine.requests.migrate import LAST_APPLIED_MANAGER, migrate_if_needed, render_annotation
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
    elif live is not None and keeps_record(live, options):
        result = yield from _write_record(target, obj, dict(answer.body))
        return FlowOutcome(Verb.APPLIED, result, live, answer.warnings)
    return FlowOutcome(Verb.APPLIED, dict(answer.body), live, answer.warnings)


def keeps_record(live: JSONObject, options: ApplyOptions) -> bool:
    """Return whether last-applied stays in step with an apply: for the manager `kubectl`, if the object has it."""
    return options.field_manager == SERVER_SIDE_MANAGER and not options.subresource and has_record(live)


def _write_record(target: RequestTarget, obj: JSONObject, result: JSONObject) -> Flow[JSONObject]:
    """Write last-applied as `kubectl-last-applied`, and return the object afterwards.

    - The server would copy the bound request into it, with the uid and the version of the object, so the apply drops
      it first. Without it, or with these, a later client-side apply would keep what it drops, or be refused.
    """
    text = renew(result, obj)
    if not text:
        return result
    body = render_annotation(target, text)
    return dict((yield from send(target.apply_as(LAST_APPLIED_MANAGER, body, result))).body)


def _apply_as_kubectl(target: RequestTarget, obj: JSONObject) -> Flow[FlowOutcome]:
    answer = yield from send(target.apply(obj, None))
    result, warnings = yield from migrate_if_needed(target, obj, dict(answer.body))
    return FlowOutcome(Verb.APPLIED, result, None, answer.warnings + warnings)


def _without_annotation(obj: JSONObject) -> JSONObject:
    """Return the manifest without last-applied: for `kubectl`, the server writes the whole request into it."""
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return obj
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    others = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**obj, "metadata": {**others, "annotations": kept} if kept else others}
