"""Write a record of one live object and nothing else of it: annotations, last-applied, or no managedFields.

Rule: kOps records an installed addon with a strategic merge patch of its namespace; `kubectl apply set-last-applied`
sends a JSON merge patch with the annotation. The fields are an Update entry of the field manager; fields of other
managers do not change. A list of one empty entry clears managedFields.
"""

from __future__ import annotations

from applyviz.engine.merge.last_applied import render_as_given
from applyviz.engine.objects.exchange import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, FlowOutcome, Verb, send
from applyviz.engine.requests.options import ClearPatch


def annotate(
    target: RequestTarget, annotations: dict[str, str], content_type: str = STRATEGIC_MERGE_PATCH
) -> Flow[FlowOutcome]:
    """Set annotations; send nothing if the object has them.

    - Raises `AnswerError` if the server refuses, or the object does not exist.
    """
    answer = yield from send(target.read())
    live: JSONObject = dict(answer.body)
    present = get_at(live, ("metadata", "annotations")) or {}
    missing = {name: text for name, text in annotations.items() if present.get(name) != text}
    if not missing:
        return FlowOutcome(Verb.UNCHANGED, live, live)
    request = target.patch({"metadata": {"annotations": missing}}, content_type, live)
    written = yield from send(request)
    return FlowOutcome(Verb.CONFIGURED, dict(written.body), live, written.warnings)


def set_last_applied(target: RequestTarget, manifest: JSONObject) -> Flow[FlowOutcome]:
    """Set the last-applied annotation to a manifest, as `kubectl apply set-last-applied --create-annotation` does."""
    return annotate(target, {LAST_APPLIED: render_as_given(manifest)}, MERGE_PATCH)


def clear_ownership(target: RequestTarget) -> Flow[FlowOutcome]:
    """Clear managedFields; send nothing if the object has none.

    - Raises `AnswerError` if the server refuses, or the object does not exist.
    """
    answer = yield from send(target.read())
    live: JSONObject = dict(answer.body)
    if not find_entries(live):
        return FlowOutcome(Verb.UNCHANGED, live, live)
    request = target.clear_managers(live, by_json_patch=target.options.clear_patch is ClearPatch.JSON)
    written = yield from send(request)
    return FlowOutcome(Verb.CONFIGURED, dict(written.body), live, written.warnings)
