"""Find, write and attach the last-applied annotation, byte for byte.

Rule: https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration.
It holds the manifest as Go writes JSON: compact, keys sorted, `<`, `>` and `&` escaped, a final newline; without the
annotation itself, and with `metadata.annotations` present even when empty.
"""

from __future__ import annotations

import json
from typing import NoReturn

from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.golang import read_integer, render_json
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, get_at

NO_DOCUMENT = "invalid JSON document"
"""The words of kubectl for a last-applied annotation that it cannot read."""


def find(obj: JSONObject) -> MutableObject | None:
    """Return the parsed last-applied annotation, None if there is none, or {} if it is empty.

    - Raises `MergeError` when it holds no JSON object.
    """
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(LAST_APPLIED) if isinstance(annotations, dict) else None
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text, parse_int=read_integer, parse_constant=_refuse) if text else {}
    except (ValueError, RecursionError):
        raise MergeError(NO_DOCUMENT) from None
    if value is not None and not isinstance(value, dict):
        raise MergeError(NO_DOCUMENT)
    return value or {}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def render(manifest: JSONObject) -> str:
    """Return the text of the annotation for a manifest."""
    return render_json(_annotate(manifest, None)) + "\n"


def render_as_given(manifest: JSONObject) -> str:
    """Return the text that `kubectl apply set-last-applied` writes: without an empty map of annotations of its own."""
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or LAST_APPLIED not in annotations:
        return render_json(manifest) + "\n"
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    others = {name: value for name, value in metadata.items() if name != "annotations"}
    return render_json({**manifest, "metadata": {**others, "annotations": kept} if kept else others}) + "\n"


def attach(manifest: JSONObject) -> MutableObject:
    """Return the manifest with its last-applied annotation."""
    return _annotate(manifest, render(manifest))


def _annotate(manifest: JSONObject, text: str | None) -> MutableObject:
    metadata = manifest.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    annotations = _read_annotations(metadata.get("annotations"))
    annotations.pop(LAST_APPLIED, None)
    if text is not None:
        annotations[LAST_APPLIED] = text
    metadata["annotations"] = annotations
    return {**manifest, "metadata": metadata}


def read_null_annotations(manifest: JSONObject) -> JSONObject:
    """Return a manifest as kubectl records and compares it: an annotation of null is an empty text."""
    annotations = get_at(manifest, ("metadata", "annotations"))
    if not isinstance(annotations, dict) or None not in annotations.values():
        return manifest
    return _annotate(manifest, None)


def _read_annotations(annotations: JSONValue) -> MutableObject:
    """Read annotations as kubectl does: null is an empty string; any other non-string value discards all of them."""
    if not isinstance(annotations, dict):
        return {}
    if any(v is not None and not isinstance(v, str) for v in annotations.values()):
        return {}
    return {k: v or "" for k, v in annotations.items()}
