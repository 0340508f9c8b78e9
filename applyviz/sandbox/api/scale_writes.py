"""Write through the scale subresource: patch the Scale, then update the object's replica count and owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import StatusError, bad_request
from applyviz.sandbox.api.patching import refuse_patch
from applyviz.sandbox.api.write_options import read_options
from applyviz.sandbox.api.writes import StoredWrite, Writer, book, merge_applied
from applyviz.sandbox.storage.bodies import Body
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.scale_owners import entries_of_parent, entries_of_scale
from applyviz.sandbox.storage.scaling import field_paths, read_replicas, render_scale, scale_kind, write_replicas


def write_scale(
    cluster: SandboxCluster,
    writer: Writer,
    request: Request,
    route: Route,
    target: ResourceTarget,
    user: str,
    payload: Payload,
) -> Answer:
    """PUT or PATCH of the scale subresource; the answer is a Scale."""
    write = StoredWrite(request, route, target, read_options(request, user), payload)
    live = cluster.get(target, route.namespace, route.name)
    entries, paths = live["metadata"].get("managedFields") or [], field_paths(target)
    before = render_scale(target, live)
    shown = entries_of_scale(entries, paths)
    if shown:
        before["metadata"]["managedFields"] = shown
    scale = _change(write, before, cluster.now())
    obj: MutableObject = clone(live)
    obj["metadata"]["resourceVersion"] = scale["metadata"].get("resourceVersion", "")
    write_replicas(target, obj, read_replicas(scale, route.name))
    after = scale["metadata"].get("managedFields") or []
    if entries or after:
        obj["metadata"]["managedFields"] = entries_of_parent(entries, after, paths, target.gvk.api_version)
    answer = writer.store_changed(write, Body(obj), live)
    return replace(answer, body=render_scale(target, answer.body))


def _change(write: StoredWrite, before: MutableObject, now: str) -> MutableObject:
    """Return the Scale after the write, with its managedFields."""
    request, kind = write.request, scale_kind()
    if not isinstance(request.body, (dict, list)):
        raise bad_request("the object provided is no Scale")
    if request.content_type == APPLY_PATCH:
        applied = _as_object(request.body)
        if write.target.struct is None and not before["metadata"].get("managedFields"):
            raise _refuse_first_apply()
        return merge_applied(write, kind, before, applied, now)
    after = request.body
    if request.method == "PATCH":
        try:
            after = patches.apply(before, request.body, request.content_type, kind=kind)
        except PatchError as error:
            raise refuse_patch(error) from error
    scale: MutableObject = clone(dict(_as_object(after)))
    scale["metadata"] = {**before["metadata"], **(scale.get("metadata") or {})}
    if request.method == "PUT":
        sent = _as_object(after).get("metadata") or {}
        scale["metadata"]["resourceVersion"] = sent.get("resourceVersion", "")
    if isinstance(scale.get("spec"), Mapping) and not scale["spec"].get("replicas"):
        scale["spec"] = {}  # zero is not written, so the field has no owner
    book(write, kind, before, scale, now)
    return scale


def _refuse_first_apply() -> StatusError:
    """Return the error for an unowned count: the server needs the owners of a Scale, which a custom resource lacks."""
    return StatusError(
        500,
        "",
        "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
        "to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
    )


def _as_object(value: object) -> JSONObject:
    if not isinstance(value, dict):
        raise bad_request("the object provided is no Scale")
    return value
