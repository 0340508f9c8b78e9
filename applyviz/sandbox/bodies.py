"""The object of a request body: is it of the resource of the path, does it fit its kind, what is filled in.

Built-in kinds go through their Go struct, custom ones through pruning and the defaults of their schema.
Rule: the create, update and patch handlers of k8s.io/apiserver; messages as the server words them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json, clone
from applyviz.sandbox.decoding import Decoded, DecodeError, decode
from applyviz.sandbox.defaults import apply_defaults
from applyviz.sandbox.gotypes import go_types
from applyviz.sandbox.routing import Route
from applyviz.sandbox.status import StatusError, bad_request, invalid, invalid_object
from applyviz.sandbox.structural import fill_defaults, prune
from applyviz.sandbox.targets import Target

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_OBJECT_META = "meta.ObjectMeta"


@dataclass(frozen=True, slots=True)
class Body:
    """The object as the server holds it before admission, and the warnings about its fields."""

    obj: MutableObject
    warnings: tuple[str, ...] = ()


def materialize(target: Target, obj: JSONObject) -> Decoded:
    """Decode an object and fill its defaults.

    - Raises `DecodeError` when it does not fit the kind.
    """
    if target.struct is not None:
        decoded = decode(obj, target.struct)
        convert = _CONVERSIONS.get(target.plural)
        if convert is not None:
            convert(decoded.obj)
        apply_defaults(decoded.obj, target.struct)
        return decoded
    return _read_custom(target, obj)


def _fold_string_data(obj: MutableObject) -> None:
    """A Secret's `stringData` is written into `data` and never read back."""
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {k: base64.b64encode(v.encode()).decode() for k, v in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _read_custom(target: Target, obj: JSONObject) -> Decoded:
    meta_struct = go_types().get_struct(_OBJECT_META)
    meta = decode(obj.get("metadata") or {}, meta_struct)
    result: MutableObject = clone({k: v for k, v in obj.items() if k != "metadata"})
    unknown = [_below_metadata(u) for u in meta.unknown]
    unknown += [f'unknown field "{p}"' for p in prune(result, target.schema)]
    fill_defaults(result, target.schema)
    return Decoded({**result, "metadata": meta.obj}, unknown)


def _below_metadata(text: str) -> str:
    return text.replace('"', '"metadata.', 1)


def _show_template_generation(obj: MutableObject) -> None:
    """A DaemonSet tells its template's generation in an annotation, from the first moment."""
    annotations = obj["metadata"].setdefault("annotations", {})
    text = annotations.get(TEMPLATE_GENERATION, "")
    annotations[TEMPLATE_GENERATION] = text if text.isdigit() else "0"


def _type_claims(obj: MutableObject) -> None:
    """A StatefulSet's claims say what they are."""
    for claim in obj["spec"].get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


_CONVERSIONS: Mapping[str, Callable[[MutableObject], None]] = {
    "secrets": _fold_string_data,
    "daemonsets": _show_template_generation,
    "statefulsets": _type_claims,
}


def refuse_handling(target: Target, version: str, kind: str, reason: str) -> StatusError:
    """400: a body cannot be read as the kind of the path."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {target.gvk.kind}: {reason}')


def _check_kind(target: Target, obj: JSONObject) -> None:
    gvk = GroupVersionKind.from_object(obj)
    if gvk == target.gvk or (not obj.get("apiVersion") and not obj.get("kind")):
        return
    if target.struct is None:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {target.gvk.kind}): "
            f"got {gvk.api_version}, Kind={gvk.kind}"
        )
    struct = go_types().find_kind(gvk)
    if struct is None:
        scheme = "pkg/runtime/scheme.go:111"
        reason = f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{scheme}"'
    elif gvk.kind != target.gvk.kind:
        group = (target.group or "core").partition(".")[0]
        reason = f"converting ({gvk.version}.{gvk.kind}) to ({group}.{target.gvk.kind}): unknown conversion"
    else:
        raise bad_request(
            f"the API version in the data ({gvk.api_version}) does not match "
            f"the expected API version ({target.gvk.api_version})"
        )
    raise refuse_handling(target, gvk.version, gvk.kind, reason)


def read_body(target: Target, body: JSONValue, validation: str) -> Body:
    """The object of a create or an update.

    - Raises `StatusError` when it is no object of the resource, or holds unknown fields under Strict.
    """
    if not isinstance(body, Mapping):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {target.gvk.kind}): couldn't get "
            f"version/kind; json parse error: unexpected end of JSON input (<empty>)"
        )
    _check_kind(target, body)
    typed = {**body, "apiVersion": target.gvk.api_version, "kind": target.gvk.kind}
    version, kind = target.gvk.version, target.gvk.kind
    try:
        decoded = materialize(target, typed)
    except DecodeError as error:
        raise refuse_handling(target, version, kind, str(error)) from error
    if decoded.unknown and validation == "Strict":
        reason = f"strict decoding error: {', '.join(decoded.unknown)}"
        raise refuse_handling(target, version, kind, reason)
    return Body(decoded.obj, tuple(decoded.unknown) if validation == "Warn" else ())


def read_patched(target: Target, patched: JSONObject, validation: str, describe: Callable[[], str]) -> Body:
    """The object that a patch made; `describe` gives the text that stands for the patch in an error.

    - Raises `StatusError` (422) when the result is no object of the resource.
    """

    def refuse(reason: str) -> StatusError:
        return invalid_object("", "", "", [invalid("patch", describe(), reason)])

    if GroupVersionKind.from_object(patched) != target.gvk:
        gvk = GroupVersionKind.from_object(patched)
        raise refuse(
            f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    try:
        decoded = materialize(target, patched)
    except DecodeError as error:
        raise refuse(str(error)) from error
    if decoded.unknown and validation == "Strict":
        raise refuse(f"strict decoding error: {', '.join(decoded.unknown)}")
    return Body(decoded.obj, tuple(decoded.unknown) if validation == "Warn" else ())


def read_applied(target: Target, merged: JSONObject) -> MutableObject:
    """The object that a server-side apply made; unknown fields were refused before."""
    try:
        return materialize(target, merged).obj
    except DecodeError as error:
        raise StatusError(500, "", str(error)) from error


def check_identity(route: Route, target: Target, obj: MutableObject, *, is_create: bool = False) -> None:
    """Fill the namespace from the path; refuse another name or namespace than the path's (400)."""
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


def render_json(obj: JSONObject) -> str:
    """Compact JSON with sorted keys, as the server quotes a patched custom resource."""
    return canonical_json(obj)
