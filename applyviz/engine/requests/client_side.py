"""Client-side apply of one object: read, compare with the last applied configuration, patch.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ and the flow of
`kubectl apply`: absent → create with the annotation; empty patch → nothing; a conflicting write → read
and compute again, at most five times; with replacing on error, 409 and 422 → delete and create. With preconditions,
what server-side apply owns moves to the Update entry afterwards (`handback`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from applyviz.engine.merge import last_applied, patches
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.lookups import drop_field
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.extracting import extract
from applyviz.engine.requests import handback
from applyviz.engine.requests.calls import RequestTarget, read_namespace
from applyviz.engine.requests.deletion import delete_and_wait
from applyviz.engine.requests.flow import (
    Deletion,
    Flow,
    FlowOutcome,
    Verb,
    is_conflict,
    is_invalid,
    is_not_found,
    refusal,
    send,
)
from applyviz.engine.requests.options import ApplyOptions, DryRun
from applyviz.engine.schema.model import KindSchema, Resource

# kubectl sends a patch once and up to five times more (`maxPatchRetry`).
_MAX_ATTEMPTS = 6


def _without_nulls(value: JSONValue) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _without_version(obj: JSONObject) -> JSONObject:
    """Return the body without a resourceVersion, which a create must not have."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("resourceVersion"):
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "resourceVersion"}}


def render_create(manifest: JSONObject) -> JSONObject:
    """Return the body that creates an object: with last-applied, without null map values.

    - last-applied keeps the nulls, so the very next apply may patch again.
    """
    return _without_version(_without_nulls(last_applied.attach(manifest)))


def _find_live(target: RequestTarget) -> Flow[JSONObject | None]:
    answer = yield target.read()
    if is_not_found(answer):
        if target.namespace and target.namespace != "default":
            yield read_namespace(target.namespace)
        return None
    if not answer.is_ok:
        raise refusal(target.read(), answer)
    return dict(answer.body)


def _create(target: RequestTarget, manifest: JSONObject) -> Flow[FlowOutcome]:
    body = render_create(manifest)
    if target.options.dry_run is DryRun.CLIENT:
        return FlowOutcome(Verb.CREATED, body)
    answer = yield from send(target.create(body))
    return FlowOutcome(Verb.CREATED, dict(answer.body), warnings=answer.warnings)


def _missing_annotation(target: RequestTarget) -> str:
    return (
        f"resource {target.resource.plural}/{target.name} is missing the {LAST_APPLIED} annotation which is "
        "required by kubectl apply. kubectl apply should only be used on resources created declaratively by either "
        "kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically."
    )


def _recreate(target: RequestTarget, manifest: JSONObject, live: JSONObject, deletion: Deletion) -> Flow[JSONObject]:
    """Delete, wait and create; if the create fails, restore the previous object and report the failure."""
    yield from delete_and_wait(target, live, deletion)
    request = target.create(_without_version(last_applied.attach(manifest)))
    answer = yield request
    if not answer.is_ok:
        yield target.create(_without_version(live))
        raise refusal(request, answer)
    return dict(answer.body)


def _patch(
    target: RequestTarget, manifest: JSONObject, live: JSONObject, kind: KindSchema | None, deletion: Deletion
) -> Flow[FlowOutcome]:
    options, first = target.options, live
    retries = 0 if options.has_preconditions else _MAX_ATTEMPTS - 1
    warnings: list[str] = []
    while True:
        # The annotation of the object just read, not of the first read: another client may have applied since.
        patch = compute_patch(manifest, live, kind=kind, options=options)
        warnings += patch.warnings
        if not patch.body:
            return FlowOutcome(Verb.UNCHANGED, live, first, tuple(warnings))
        if options.dry_run is DryRun.CLIENT:
            merged = patches.apply(live, patch.body, patch.content_type, kind=kind)
            return FlowOutcome(Verb.CONFIGURED, merged, first, tuple(warnings), patch.calculation)
        request = target.patch(patch.body, patch.content_type, live)
        answer = yield request
        warnings += answer.warnings
        if answer.is_ok:
            return FlowOutcome(Verb.CONFIGURED, dict(answer.body), first, tuple(warnings), patch.calculation)
        if is_conflict(answer) and retries:
            retries -= 1
            live = dict((yield from send(target.read())).body)
            continue
        # With preconditions a conflict means that the object changed since it was read: it is read again instead.
        is_changed = is_conflict(answer) and not options.has_preconditions
        if options.is_replacing_on_error and (is_changed or is_invalid(answer)):
            obj = yield from _recreate(target, manifest, live, deletion)
            return FlowOutcome(Verb.CONFIGURED, obj, first, tuple(warnings), patch.calculation)
        raise refusal(request, answer)


def find_original(live: JSONObject, *, kind: KindSchema | None, options: ApplyOptions) -> JSONObject | None:
    """Return the configuration applied before: last-applied, else the fields of the Apply entries that move back.

    - kubectl knows the annotation only, so after a server-side apply without one it removes nothing.
    - A field that the manifest gives up was never applied: the patch then keeps it, as `edit-last-applied` does first.
    - Raises `MergeError` if the annotation is not a JSON object.
    """
    found: JSONObject | None = last_applied.find(live)
    if found is None:
        managers = handback.find_managers(live, options)
        found = extract(live, managers, kind.root if kind else None) if managers else None
    if found is None:
        return None
    for one in options.list_handovers(ObjectRef.from_object(live).key):
        found = drop_field(found, one.path)
    return found


def compute_patch(
    manifest: JSONObject, live: JSONObject, *, kind: KindSchema | None, options: ApplyOptions
) -> patches.ThreeWayPatch:
    """Return the three-way patch from `live` to the manifest.

    - Raises `MergeError`.
    """
    return patches.compute(
        find_original(live, kind=kind, options=options),
        last_applied.attach(manifest),
        live,
        kind=kind,
        is_overwriting=options.is_overwriting,
    )


def apply_client_side(
    obj: JSONObject,
    *,
    resource: Resource,
    kind: KindSchema | None,
    options: ApplyOptions,
    deletion: Deletion | None = None,
) -> Flow[FlowOutcome]:
    """Apply one object client-side.

    - Raises `AnswerError` if the server refuses, `MergeError` if no patch can be computed.
    """
    metadata = obj.get("metadata") or {}
    namespace = (metadata.get("namespace") or "") if resource.is_namespaced else ""
    target = RequestTarget(resource, namespace, metadata.get("name") or "", options)
    live = yield from _find_live(target)
    if live is None:
        return (yield from _create(target, obj))
    outcome = yield from _patch(target, obj, live, kind, deletion or Deletion())
    moved = yield from handback.move_back(target, outcome.obj)
    if moved is not outcome.obj:
        outcome = replace(outcome, verb=Verb.CONFIGURED, obj=moved)
    if LAST_APPLIED in ((live.get("metadata") or {}).get("annotations") or {}):
        return outcome
    return replace(outcome, warnings=(_missing_annotation(target), *outcome.warnings))
