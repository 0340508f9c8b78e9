"""Server-side apply of one object: one apply patch, then the migration where one is due.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. kubectl sends without reading; with
preconditions the object is read first and the patch bound to it, or to its absence.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.calls import Target
from applyviz.engine.requests.deletion import delete_and_wait
from applyviz.engine.requests.flow import Deletion, Flow, Outcome, Verb, is_invalid, is_not_found, refusal, send
from applyviz.engine.requests.migrate import migrate_if_needed
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.model import Resource


def _read_live(target: Target) -> Flow[JSONObject | None]:
    answer = yield target.read()
    if is_not_found(answer):
        return None
    if not answer.is_ok:
        raise refusal(target.read(), answer)
    return dict(answer.body)


def apply_server_side(
    obj: JSONObject, *, resource: Resource, options: ApplyOptions, deletion: Deletion | None = None
) -> Flow[Outcome]:
    """Apply one object the server-side way.

    - With replacing on error (ours, kubectl has none here) an invalid change deletes and creates.
    - Raises `AnswerError` when the server refuses; conflicts are in its answer.
    """
    metadata = obj.get("metadata") or {}
    namespace = (metadata.get("namespace") or "") if resource.is_namespaced else ""
    target = Target(resource, namespace, metadata.get("name") or "", options)
    live = (yield from _read_live(target)) if options.has_preconditions else None
    request = target.apply(obj, live)
    answer = yield request
    if options.is_replacing_on_error and live is not None and is_invalid(answer):
        yield from delete_and_wait(target, live, deletion or Deletion())
        answer = yield from send(target.apply(obj, None))
    elif not answer.is_ok:
        raise refusal(request, answer)
    result, warnings = yield from migrate_if_needed(target, obj, dict(answer.body))
    return Outcome(Verb.APPLIED, result, live, answer.warnings + warnings)
