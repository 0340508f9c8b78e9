"""Compute the requests that kubectl would send for one object of a plan, to show them beside the plan.

Rule: kubectl does not bind a write to the object that it read, sends the file unchanged, and deletes and creates on an
error only with `--force`. The flow is the plan's own, answered by calculation from the live object that the plan read.
Left out: refusals of a server on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import MutableObject
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.server_side import apply_server_side
from applyviz.engine.schema.model import KindSchema, Resource, SchemaOrigin

T = TypeVar("T")
_NEVER = "1970-01-01T00:00:00Z"


def _collect(flow: Flow[T], estimated: EstimatedAnswers) -> list[Request]:
    """Return the writes of a flow whose requests are all answered by calculation."""
    writes: list[Request] = []
    try:
        request = next(flow)
        while True:
            if request.is_write:
                writes.append(request)
            request = flow.send(estimated.answer(request))
    except StopIteration:
        return writes


def unbind(request: Request) -> Request:
    """Return a write without what binds it to the object that was read."""
    body = request.body
    for placeholder in request.placeholders:
        if isinstance(body, list):
            body = body[:-1]
        elif isinstance(body, Mapping):
            metadata = {k: v for k, v in (body.get("metadata") or {}).items() if k != placeholder.rule}
            kept = {name: value for name, value in body.items() if name != "metadata"}
            body = {**kept, "metadata": metadata} if metadata else kept
    return replace(request, body=body, placeholders=())


def _list_patches(change: PlannedObject) -> tuple[Request, ...]:
    """Return the writes of `kubectl patch`, which names no field validation."""
    sent = [unbind(request) for request in change.requests if request.is_write]
    return tuple(
        replace(request, query={name: value for name, value in request.query.items() if name != "fieldValidation"})
        for request in sent
    )


def list_kubectl_writes(
    change: PlannedObject, *, options: ApplyOptions, resource: Resource, kind: KindSchema | None
) -> tuple[Request, ...] | None:
    """Return the writes of `kubectl apply` or `kubectl patch` for the object; None if they cannot be calculated.

    - Force is a property of the request: kubectl gets it if the plan sends the object with it.
    """
    if options.is_patching:
        return _list_patches(change)
    manifest = change.versions.manifest
    if manifest is None:
        return None
    applied = [r for r in change.requests if r.content_type == APPLY_PATCH]
    options = replace(
        options,
        has_preconditions=False,
        is_replacing_on_error=False,
        dry_run=DryRun.NONE,
        takes_over=any(r.query.get("force") == "true" for r in applied),
    )
    known = kind or KindSchema(resource.gvk, None, SchemaOrigin.NONE, is_custom=True, is_strategic=False)
    live = dict(change.versions.live) if change.versions.live is not None else None
    estimated = EstimatedAnswers(known, _NEVER, live, options.subresource)
    placed: MutableObject = dict(manifest)
    if resource.is_namespaced and change.ref.namespace:
        placed["metadata"] = {**(manifest.get("metadata") or {}), "namespace": change.ref.namespace}
    try:
        if options.mode is ApplyMode.SERVER:
            return tuple(_collect(apply_server_side(placed, resource=resource, options=options), estimated))
        return tuple(_collect(apply_client_side(placed, resource=resource, kind=kind, options=options), estimated))
    except ApplyVizError:
        return None
