"""Write through the scale subresource: patch the Scale, then update the object's replica count and owners."""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import MutableObject, clone
from applyviz.engine.schema.scaling import SCALE
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.api.patching import apply_patch, check_patch_type, read_configuration
from applyviz.sandbox.api.write_options import read_options
from applyviz.sandbox.api.writes import StoredWrite, Writer, book, check_uid, merge_applied
from applyviz.sandbox.storage.bodies import Body, check_identity, read_body
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
    if request.method == "PATCH":
        check_patch_type(target, request.content_type)
    write = StoredWrite(request, route, target, read_options(request, user), payload)
    live = cluster.get(target, route.namespace, route.name)
    entries, paths = live["metadata"].get("managedFields") or [], field_paths(target)
    before = render_scale(target, live)
    shown = entries_of_scale(entries, paths)
    if shown:
        before["metadata"]["managedFields"] = shown
    changed = _change(write, before, cluster.now())
    scale, obj = changed.obj, clone(live)
    obj["metadata"]["resourceVersion"] = scale["metadata"].get("resourceVersion", "")
    write_replicas(target, obj, read_replicas(scale, route.name))
    after = scale["metadata"].get("managedFields") or []
    if entries or after:
        obj["metadata"]["managedFields"] = entries_of_parent(entries, after, paths, target.gvk.api_version)
    answer = writer.store_changed(write, Body(obj, changed.warnings), live)
    return replace(answer, body=render_scale(target, answer.body))


def _change(write: StoredWrite, before: MutableObject, now: str) -> Body:
    """Return the Scale after the write, with its managedFields."""
    request, kind, target = write.request, scale_kind(), write.target.with_kind(SCALE)
    if request.content_type == APPLY_PATCH:
        applied = read_configuration(write.payload)
        if write.target.struct is None and not before["metadata"].get("managedFields"):
            raise _refuse_first_apply()
        return Body(merge_applied(write, kind, before, applied, now))
    if request.method == "PATCH":
        body = apply_patch(target, request.content_type, write.payload, before, write.options.validation)
    else:
        body = read_body(target, write.payload, write.options.validation)
    check_identity(write.route, target, body.obj)
    scale, sent = body.obj, body.obj["metadata"]
    check_uid(write, sent.get("uid"), before["metadata"].get("uid"))
    scale["metadata"] = {**before["metadata"], **sent, "resourceVersion": sent.get("resourceVersion", "")}
    if isinstance(scale.get("spec"), Mapping) and not scale["spec"].get("replicas"):
        scale["spec"] = {}  # zero is not written, so the field has no owner
    book(write, kind, before, scale, now)
    return body


def _refuse_first_apply() -> StatusError:
    """Return the error for an unowned count: the server needs the owners of a Scale, which a custom resource lacks."""
    return StatusError(
        500,
        "",
        "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
        "to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
    )
