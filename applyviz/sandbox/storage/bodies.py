"""Decode the object of a request body: check its resource and its kind, and fill in defaults.

Built-in kinds go through their Go struct, custom ones through pruning and the defaults of their schema. Rule: the
create, update and patch handlers of k8s.io/apiserver, with their messages.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.ownership.errors import name_object, render_kind
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.kubernetes.parity.converting import convert
from applyviz.kubernetes.parity.decoding import Decoded, DecodeError, decode
from applyviz.kubernetes.parity.field_order import render_ordered
from applyviz.kubernetes.parity.go_types import GoStruct, go_types
from applyviz.kubernetes.parity.json_text import find_repeated, simplify
from applyviz.kubernetes.parity.payloads import YAML_ERRORS, Payload, UnreadableError, interpret
from applyviz.kubernetes.parity.status import StatusError, bad_request, invalid, invalid_object
from applyviz.kubernetes.v1_36.defaults import apply_defaults
from applyviz.sandbox.schema.custom_resources import read_custom
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route

SCHEME = "pkg/runtime/scheme.go:111"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


class Body(Struct, frozen=True):
    """The object as the server holds it before admission, and the warnings about its fields.

    - `written`: the object before decoding, which leaves out empty lists and maps.
    """

    obj: MutableObject
    warnings: tuple[str, ...] = ()
    written: JSONObject = field(default_factory=dict)


def materialize(target: ResourceTarget, obj: JSONObject) -> Decoded:
    """Decode an object and fill in its defaults.

    - Raises `DecodeError` if it does not fit the kind.
    """
    if target.struct is None:
        return read_custom(as_mapping(simplify(obj)), target.schema)
    return _complete(target, decode(obj, target.struct))


def _complete(target: ResourceTarget, decoded: Decoded) -> Decoded:
    """Convert and default an object of a built-in kind, in place."""
    if target.struct is not None:
        convert_internally = _CONVERSIONS.get(target.plural)
        if convert_internally is not None:
            convert_internally(decoded.obj)
        apply_defaults(decoded.obj, target.struct)
    return decoded


def _fold_string_data(obj: MutableObject) -> None:
    """Write a Secret's `stringData` into `data`; it is never read back."""
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {k: base64.b64encode(v.encode()).decode() for k, v in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _show_template_generation(obj: MutableObject) -> None:
    """Set the annotation with the generation of a DaemonSet's template, also on a new object."""
    annotations = obj["metadata"].setdefault("annotations", {})
    text = annotations.get(TEMPLATE_GENERATION, "")
    annotations[TEMPLATE_GENERATION] = "0" if read_digits(text) is None else text


def _end_pod(obj: MutableObject) -> None:
    """Replace a negative grace period of a Pod by one second; pod templates keep theirs."""
    if obj["spec"].get("terminationGracePeriodSeconds", 0) < 0:
        obj["spec"]["terminationGracePeriodSeconds"] = 1


def _type_claims(obj: MutableObject) -> None:
    """Set the kind of a StatefulSet's claims."""
    for claim in obj["spec"].get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _normalize_autoscaler(obj: MutableObject) -> None:
    """Convert a v1 autoscaler to v2 and back: its annotations are those that the server writes."""
    if obj.get("apiVersion") == "autoscaling/v1":
        normalized = convert_autoscaler(convert_autoscaler(obj, "v2"), "v1")
        obj.update(spec=normalized["spec"], metadata=normalized["metadata"])


_CONVERSIONS: Mapping[str, Callable[[MutableObject], None]] = {
    "pods": _end_pod,
    "secrets": _fold_string_data,
    "horizontalpodautoscalers": _normalize_autoscaler,
    "daemonsets": _show_template_generation,
    "statefulsets": _type_claims,
}


def refuse_handling(target: ResourceTarget, version: str, kind: str, reason: str) -> StatusError:
    """Return a 400: the body cannot be decoded as the kind of the path."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {target.gvk.kind}: {reason}')


def _fill_kind(target: ResourceTarget, api_version: str, kind: str) -> GroupVersionKind:
    """Return the kind of a body; the resource of the path fills in the missing parts."""
    found = GroupVersionKind.from_object({"apiVersion": api_version, "kind": kind})
    wanted = target.gvk
    group, version = found.group, found.version
    if not version and group in ("", wanted.group):
        group, version = wanted.group, wanted.version
    return GroupVersionKind(group, version, kind or wanted.kind)


def _recognize(target: ResourceTarget, payload: Payload, validation: str) -> tuple[JSONObject, str, str]:
    """Return the value of a body, with the apiVersion and kind that it names (400 if it is not an object)."""
    try:
        value = payload.read()
        api_version, kind = interpret(value)
        if target.struct is None and not kind:
            reason = f"Object 'Kind' is missing in '{payload.quote()}'"
            if validation == "Ignore":  # a lenient reader reports the kind that it assumed
                gvk = _fill_kind(target, api_version, kind)
                raise refuse_handling(target, gvk.version, gvk.kind, reason)
            raise UnreadableError(reason)
    except UnreadableError as error:
        must = f"the object provided is unrecognized (must be of type {target.gvk.kind})"
        raise bad_request(f"{must}: {error} ({payload.summarize()})") from error
    return value or {}, api_version, kind


def read_body(target: ResourceTarget, payload: Payload, validation: str) -> Body:
    """Return the object of a create or an update.

    - Raises `StatusError` if it is not an object of the resource, or has unknown fields under Strict.
    """
    payload.negotiate()
    value, api_version, kind = _recognize(target, payload, validation)
    if target.struct is None:
        gvk = GroupVersionKind.from_object({"apiVersion": api_version, "kind": kind})
    else:
        gvk = _fill_kind(target, api_version, kind)
    decoded = _read_kind(target, gvk, value)
    strict = [*payload.find_repeated(), *decoded.unknown]
    if strict and validation == "Strict":
        if target.struct is None and not api_version:
            raise bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        wanted = target.gvk.kind if target.struct is not None else kind
        reason = f"{wanted}: strict decoding error: {', '.join(strict)}"
        raise bad_request(f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {reason}')
    warnings = _list_warnings(strict) if validation == "Warn" else ()
    if gvk.api_version != target.gvk.api_version:
        refusal = bad_request(
            f"the API version in the data ({gvk.api_version}) does not match "
            f"the expected API version ({target.gvk.api_version})"
        )
        refusal.warnings = warnings
        raise refusal
    decoded.obj["apiVersion"], decoded.obj["kind"] = gvk.api_version, gvk.kind
    return Body(decoded.obj, warnings, value)


def _list_warnings(strict: list[str]) -> tuple[str, ...]:
    """Return each message as a warning: those of YAML come in one text, one per line."""
    found: list[str] = []
    for text in strict:
        head, mark, tail = text.partition(YAML_ERRORS)
        found += [line.strip() for line in tail.split("\n")] if mark and not head else [text]
    return tuple(dict.fromkeys(found))


def _read_kind(target: ResourceTarget, gvk: GroupVersionKind, value: JSONObject) -> Decoded:
    """Return a body as the kind that it names, which must be that of the path (400)."""
    try:
        return _decode_kind(target, gvk, value)
    except DecodeError as error:
        raise refuse_handling(target, gvk.version, gvk.kind, str(error)) from error


def _decode_kind(target: ResourceTarget, gvk: GroupVersionKind, value: JSONObject) -> Decoded:
    if target.struct is None:
        if "apiVersion" in value and value["apiVersion"] is None:
            raise DecodeError(".apiVersion accessor error: <nil> is of the type <nil>, expected string")
        decoded = read_custom(as_mapping(simplify(value)), target.schema, is_of_schema=gvk == target.gvk)
        return Decoded(decoded.obj, [*find_repeated(value), *decoded.unknown])
    struct = go_types().find_kind(gvk)
    if struct is None:
        raise DecodeError(f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{SCHEME}"')
    decoded = decode(value, struct)
    if gvk.kind != target.gvk.kind:
        group = (target.group or "core").partition(".")[0]
        raise DecodeError(f"converting ({gvk.version}.{gvk.kind}) to ({group}.{target.gvk.kind}): unknown conversion")
    return _complete(target, decoded)


def read_patched(
    target: ResourceTarget, patched: JSONObject, validation: str,
    describe: Callable[[], str], *, repeated: Sequence[str] = (),
    is_strategic: bool = False
) -> Body:  # fmt: skip
    """Return the object that a patch produced; `describe` returns the text of the patch for an error.

    - `repeated`: the messages of strict reading about the patch itself.
    - Raises `StatusError` (422) if the result is not an object of the resource.
    """

    def refuse(reason: str) -> StatusError:
        return invalid_object("", "", "", [invalid("patch", describe(), reason)])

    try:
        decoded = _read_strategic(target, patched) if is_strategic else _read_as_sent(target, patched)
    except (DecodeError, UnreadableError) as error:
        raise refuse(str(error)) from error
    strict = [*repeated, *decoded.unknown]
    if strict and validation == "Strict":
        raise refuse(f"strict decoding error: {', '.join(strict)}")
    warnings = tuple(dict.fromkeys(strict)) if validation == "Warn" else ()
    return Body(decoded.obj, warnings, patched)


def _read_strategic(target: ResourceTarget, patched: JSONObject) -> Decoded:
    if target.struct is None:
        raise LookupError("strategic patches are for built-in kinds")
    decoded = _complete(target, convert(patched, target.struct))
    decoded.obj["apiVersion"], decoded.obj["kind"] = target.gvk.api_version, target.gvk.kind
    return decoded


def _read_as_sent(target: ResourceTarget, patched: JSONObject) -> Decoded:
    """Return the result of a JSON patch, which the server decodes like a body."""
    api_version, kind = interpret(patched)
    if target.struct is None and not kind:
        raise UnreadableError(f"Object 'Kind' is missing in '{render_ordered(patched)}'")
    if target.struct is not None and not api_version:
        return _read_internal(target, patched, kind or target.gvk.kind)
    gvk = GroupVersionKind.from_object({"apiVersion": api_version, "kind": kind or target.gvk.kind})
    decoded = _decode_kind(target, gvk, patched)
    decoded.obj["apiVersion"], decoded.obj["kind"] = gvk.api_version, gvk.kind
    return decoded


def _read_internal(target: ResourceTarget, patched: JSONObject, kind: str) -> Decoded:
    """Return a patched object without apiVersion: Go reads it as the internal type, which has no JSON names."""
    if kind != target.gvk.kind:
        group = f'for the internal version of group "{target.group}"'
        raise DecodeError(f'no kind "{kind}" is registered {group} in scheme "{SCHEME}"')
    struct, meta = target.struct, go_types().get_struct("meta.ObjectMeta").fields
    if struct is None:
        raise LookupError("custom resources have no internal type")
    known = {**meta, **{name: struct.fields[name] for name in ("kind", "apiVersion")}}
    found = decode(patched, GoStruct(kind, kind, known))
    metadata = {name: found.obj[name] for name in meta if name in found.obj}
    whole = decode({"apiVersion": target.gvk.api_version, "kind": kind, "metadata": metadata}, struct)
    return Decoded(_complete(target, whole).obj, found.unknown)


def read_applied(target: ResourceTarget, merged: JSONObject, applied: JSONObject) -> MutableObject:
    """Return the object that a server-side apply produced; unknown fields were refused before.

    - Raises `StatusError` (500) for values that pass the schema but do not fit their kind.
    """
    try:
        if target.struct is None:
            return read_custom(merged, target.schema, is_applied=True).obj
        sent = (applied.get("metadata") or {}).get("managedFields")
        if sent:  # unreadable entries were not refused, so they must not be converted either
            convert({"metadata": {"managedFields": sent}}, target.struct)
        return _complete(target, convert(merged, target.struct)).obj
    except DecodeError as error:
        named = name_object(applied)
        reason = f"unable to convert unstructured object to {render_kind(target.gvk)}: " if target.struct else ""
        message = f"failed to convert new object ({named}) to proper version: {reason}{error}"
        raise StatusError(500, "", message) from error


def check_identity(route: Route, target: ResourceTarget, obj: MutableObject, *, is_create: bool = False) -> None:
    """Fill in the namespace from the path; refuse a name or namespace that differs from the path (400)."""
    meta = obj["metadata"]
    if target.resource.is_namespaced:
        if meta.setdefault("namespace", route.namespace) != route.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        meta.pop("namespace", None)
    if is_create:
        return
    name = meta.get("name", "")
    if not name:
        raise bad_request(
            f"the name of the object ({route.name} based on URL) was undeterminable: name must be provided"
        )
    if name != route.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({route.name})")
