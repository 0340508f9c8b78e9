"""Comparison with kubectl: the requests that kubectl would send for the same object, and its command.

The engine calculates kubectl's writes by kubectl's rules; differences are described, and shown where words are not
enough. Objects are masked, so a command with masked values is not offered.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping

from django.utils.translation import gettext
from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.simulation.kubectl import list_kubectl_writes
from applyviz.engine.planning.simulation.kubectl import unbind as unbind_write
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.requests.patching import CONTENT_TYPES
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Resource
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.reviews.pane.diff_lines import diff_bodies
from applyviz.web.reviews.pane.requests import RequestRow, SideBySide, Text, Words, present_request

NAME = "kubectl.sh"
_PATCH_TYPES = {content_type: patch_type.value for patch_type, content_type in CONTENT_TYPES.items()}


class KubectlRow(Struct, frozen=True):
    """kubectl's command for the same object, and each difference from the plan.

    - `command` is None when it contains masked values and cannot be run.
    - `writes` are requests that kubectl would send and the plan does not.
    """

    command: Text | None
    differences: tuple[Words, ...]
    writes: tuple[RequestRow, ...] = ()


def _find_resource(change: PlannedObject) -> Resource | None:
    """Return the resource of the kind; for a custom resource from its request."""
    known = bundled().find_resource(change.ref.gvk)
    if known is not None:
        return known
    path = next((r.path for r in change.requests), "")
    parts = path.split("/")
    at = parts.index("namespaces") + 2 if "namespaces" in parts[:-2] else 4
    if len(parts) <= at:
        return None
    return Resource(change.ref.gvk, parts[at], is_namespaced="namespaces" in parts)


def unbind(request: Request) -> JSONValue:
    """Return the body without the preconditions of the live object."""
    body = request.body
    if not isinstance(body, Mapping):
        is_bound = any(placeholder.path[-1:] == ("f:value",) for placeholder in request.placeholders)
        other: JSONValue = body[:-1] if isinstance(body, list) and is_bound and len(request.placeholders) == 1 else body
        return other
    kept = {k: v for k, v in body.items() if k != "preconditions"}
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        bound = {placeholder.path[-1][2:] for placeholder in request.placeholders} | (
            {"resourceVersion"} if not request.placeholders else set()
        )
        left = {k: v for k, v in metadata.items() if k not in bound}
        kept = {**kept, "metadata": left} if left else {k: v for k, v in kept.items() if k != "metadata"}
    return kept


def _compare(planned: Request, sent: Request, *, is_edited: bool) -> SideBySide:
    says: list[Words] = []
    if planned.placeholders:
        bound = " · ".join(placeholder.rule for placeholder in planned.placeholders)
        says.append(gettext("The plan adds preconditions from the live object (%(fields)s).") % {"fields": bound})
    elif not is_same_json(planned.body, sent.body) and is_same_json(unbind(planned), unbind(sent)):
        says.append(gettext("The plan adds the precondition that the object does not exist."))
    if (planned.method, planned.path) != (sent.method, sent.path):
        says.append(gettext("kubectl sends %(request)s.") % {"request": f"{sent.method} {sent.path}"})
    for name in sorted({*planned.query, *sent.query}):
        if planned.query.get(name) != sent.query.get(name):
            says.append(f"{name}: {planned.query.get(name, '—')} → {sent.query.get(name, '—')}")
    if planned.content_type != sent.content_type:
        says.append(f"{planned.content_type} → {sent.content_type}")
    old, new = unbind(planned), unbind(sent)
    lines = () if is_same_json(old, new) else diff_bodies(old, new)
    if lines and is_edited:
        says.append(gettext("Resolutions edited this body; kubectl sends the file unchanged."))
    return SideBySide(not says and not lines, tuple(says), lines)


def present_requests(
    change: PlannedObject,
    options: ApplyOptions,
    *,
    is_edited: bool = False,
    file_url_of: Callable[[str], str] | None = None,
) -> tuple[tuple[RequestRow, ...], KubectlRow | None]:
    """Return every request of the plan with kubectl's counterpart, and kubectl's command; without for a record."""
    resource = None if options.is_recording else _find_resource(change)
    sent: tuple[Request, ...] | None = None
    if resource is not None and change.requests:
        kind = bundled().find_kind(change.ref.gvk)
        sent = list_kubectl_writes(change, options=options, resource=resource, kind=kind)
    planned = [r for r in change.requests if r.is_write]
    pairs = dict(zip(map(id, planned), sent or (), strict=False))
    rows = tuple(
        present_request(
            request,
            number,
            beside=_compare(request, pairs[id(request)], is_edited=is_edited) if id(request) in pairs else None,
            file_url_of=file_url_of,
        )
        for number, request in enumerate(change.requests, 1)
    )
    more = tuple(present_request(r) for r in (sent or ())[len(planned) :])
    return rows, _present_kubectl(change, options, sent, len(planned), more, file_url_of)


def _differ(change: PlannedObject, sent: tuple[Request, ...] | None, planned: int) -> Iterator[Words]:
    if change.operation is Operation.DELETE and not change.is_ended:
        yield gettext(
            "kubectl delete sends it without preconditions: it also deletes an object that changed since the review."
        )
    elif any(request.method == "DELETE" for request in change.requests):
        yield gettext("This plan deletes the object. kubectl only does that with --prune.")
    elif sent is None:
        yield gettext("Could not determine what kubectl would send for this object.")
    elif len(sent) < planned:
        yield gettext("kubectl sends fewer requests than the plan.")


def _write_deletion(change: PlannedObject, options: ApplyOptions) -> str:
    """Return the kubectl command that deletes one object; its name is enough."""
    gvk = change.ref.gvk
    kind = f"{gvk.kind.lower()}.{gvk.version}.{gvk.group}" if gvk.group else gvk.kind.lower()
    parts = ["kubectl delete", shlex.quote(kind), shlex.quote(change.ref.name)]
    if change.ref.namespace:
        parts.append(f"--namespace={shlex.quote(change.ref.namespace)}")
    parts += ["--ignore-not-found", f"--cascade={options.propagation.value.lower()}"]
    return " ".join((*parts, f"--timeout={options.deletion_seconds}s"))


def _write_patch(change: PlannedObject, options: ApplyOptions) -> str:
    """Return the kubectl command that patches one object; "" if a value is masked."""
    request = next((request for request in change.requests if request.is_write), None)
    body = None if request is None else unbind_write(request).body
    if request is None or is_masked(body):
        return ""
    gvk = change.ref.gvk
    kind = f"{gvk.kind.lower()}.{gvk.version}.{gvk.group}" if gvk.group else gvk.kind.lower()
    parts = ["kubectl patch", shlex.quote(kind), shlex.quote(change.ref.name)]
    parts += [f"--namespace={shlex.quote(change.ref.namespace)}"] if change.ref.namespace else []
    parts += [f"--subresource={change.subresource}"] if change.subresource else []
    parts += [f"--field-manager={shlex.quote(options.field_manager)}", f"--type={_PATCH_TYPES[request.content_type]}"]
    return " ".join((*parts, f"--patch={shlex.quote(json.dumps(body, ensure_ascii=False))}"))


def write_command(change: PlannedObject, options: ApplyOptions) -> str:
    """Return the kubectl command with its manifest; "" when a value is masked or there is no manifest."""
    if change.operation in (Operation.DELETE, Operation.NOT_FOUND) and not change.is_ended:
        return _write_deletion(change, options)
    if options.is_patching:
        return _write_patch(change, options)
    manifest = change.versions.manifest
    if manifest is None or is_masked(manifest) or options.is_recording:
        return ""
    parts = ["kubectl apply"]
    if options.mode is ApplyMode.SERVER:
        parts.append("--server-side")
    parts.append(f"--field-manager={shlex.quote(options.field_manager)}")
    applied = [r for r in change.requests if r.content_type == APPLY_PATCH]
    if any(r.query.get("force") == "true" for r in applied):
        parts.append("--force-conflicts")
    if change.ref.namespace:
        parts.append(f"--namespace={shlex.quote(change.ref.namespace)}")
    command = " ".join((*parts, "--filename=-"))
    return f"{command} <<'MANIFEST'\n{render_yaml(manifest)}\nMANIFEST"


def _present_kubectl(
    change: PlannedObject,
    options: ApplyOptions,
    sent: tuple[Request, ...] | None,
    planned: int,
    more: tuple[RequestRow, ...],
    file_url_of: Callable[[str], str] | None,
) -> KubectlRow | None:
    if (
        not change.requests
        or options.is_recording
        or (change.versions.manifest is None and change.operation is not Operation.DELETE)
    ):
        return None
    text = write_command(change, options)
    command = Text(text, NAME, file_url_of(NAME) if file_url_of else "") if text else None
    return KubectlRow(command, tuple(_differ(change, sent, planned)), tuple(replace(r, curl=None) for r in more))
