"""Compute the patch that client-side apply sends, and apply a patch to an object.

kubectl tries the OpenAPI v3 document, then OpenAPI v2, then the Go type, and goes on to the next after an error; a kind
without a Go type gets a JSON merge patch. Rule:
https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/. The result names the method that
succeeded; the errors of the methods before it are its warnings.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from applyviz.engine.merge.calculation import MergedPatch, PatchSteps, explain_steps
from applyviz.engine.merge.json_merge import apply_json_merge, compute_json_merge
from applyviz.engine.merge.json_patch import apply_json_patch
from applyviz.engine.merge.shapes import GoTypeShape, OpenAPIv2Shape, PatchShape
from applyviz.engine.merge.strategic import apply_strategic, compute_strategic
from applyviz.engine.objects.errors import MergeError, PatchError
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.engine.schema.model import KindSchema, Node

STRATEGIC = "strategic merge patch"
JSON_MERGE = "JSON merge patch"

_OPENAPI_V3 = "openapi v3 spec"
_INT64 = 1 << 63
_SHAPES: dict[str, type[PatchShape]] = {"openapi-v2": OpenAPIv2Shape, "builtin": GoTypeShape}


class ThreeWayPatch(Struct, frozen=True):
    """The patch that client-side apply sends; an empty body means that nothing is sent.

    `method` names the kind of patch for people; `warnings` are those that kubectl prints, one for each source that
    could not compute it; `calculation` has the steps that the body is merged from.
    """

    body: MutableObject
    content_type: str
    method: str
    warnings: tuple[str, ...] = ()
    calculation: PatchSteps = field(default_factory=PatchSteps)


_make_shape: Any = lru_cache(maxsize=1024)(lambda kind, root: kind(root))


def _shape(kind: type[PatchShape], root: Node) -> PatchShape:
    """Return the shape of a schema; shapes are cached, because they remember the rules that they found."""
    shape: PatchShape = _make_shape(kind, root)
    return shape


def _as_sent(value: JSONValue) -> Any:
    """Return the value after Go encodes it as JSON: 2.0 becomes 2."""
    if isinstance(value, dict):
        return {k: _as_sent(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_as_sent(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _INT64 else value


def _make_patch(merged: MergedPatch, content_type: str, method: str, warnings: tuple[str, ...]) -> ThreeWayPatch:
    sent = MergedPatch(_as_sent(merged.body), _as_sent(merged.deletions), _as_sent(merged.additions))
    return ThreeWayPatch(sent.body, content_type, method, warnings, explain_steps(sent))


def _sources(kind: KindSchema | None) -> list[tuple[str, PatchShape]]:
    """Return names and shapes in the order in which kubectl tries them."""
    if kind is None or kind.root is None or not kind.is_strategic:
        return []
    sources = [("openapi-v3", _shape(PatchShape, kind.root))]
    for name, root in kind.alternatives:
        sources.append((name, _shape(_SHAPES[name], root)))
    return sources


def compute(
    last_applied: JSONObject | None,
    manifest: JSONObject,
    live: JSONObject,
    *,
    kind: KindSchema | None,
    is_overwriting: bool = True,
) -> ThreeWayPatch:
    """Return the patch that turns the live object into the manifest; all three with the annotation or all without.

    - `last_applied` is None when the object has no annotation: then nothing can be removed.
    - Raises `MergeError` when no source can compute one, or others' changes may not be overwritten.
    """
    original = last_applied or {}
    warnings: list[str] = []
    for name, shape in _sources(kind):
        try:
            merged = compute_strategic(original, manifest, live, shape, is_overwriting=is_overwriting)
        except MergeError as error:
            if name == "builtin":
                raise
            document = _OPENAPI_V3 if name == "openapi-v3" else "openapi spec"
            warnings.append(f"error calculating patch from {document}: {error}")
        else:
            return _make_patch(merged, STRATEGIC_MERGE_PATCH, STRATEGIC, tuple(warnings))
    merged = compute_json_merge(original, manifest, live)
    return _make_patch(merged, MERGE_PATCH, JSON_MERGE, tuple(warnings))


def apply(live: JSONObject, patch: JSONValue, content_type: str, *, kind: KindSchema | None) -> MutableObject:
    """Apply a patch to the live object, before defaulting, conversion and admission.

    - Raises `PatchError` with the HTTP status that the server answers.
    """
    if content_type == JSON_PATCH:
        return apply_json_patch(live, patch)
    if content_type == MERGE_PATCH:
        return apply_json_merge(live, patch)
    if content_type != STRATEGIC_MERGE_PATCH:
        raise PatchError(f"unknown Content-Type header for patch: {content_type}", 415)
    if kind is None or kind.root is None or kind.is_custom:
        raise PatchError("strategic merge patch format is not supported", 415)
    if not isinstance(patch, dict):
        raise PatchError("invalid JSON document", 400)
    return apply_strategic(live, patch, _shape(GoTypeShape, kind.root))
