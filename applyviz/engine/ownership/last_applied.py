"""Maintain the last-applied annotation in a server-side apply by the manager `kubectl`.

Rule: apimachinery's last-applied managers: an object that client-side apply made can be taken over without conflicts
where the live value still is what was last applied, and the annotation is kept up to date for clients that still read
it. It is dropped where it would make the annotations too large. Other managers do not touch the annotation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.golang import read_integer, render_json
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership.bookkeeping import Bookkeeper
from applyviz.engine.ownership.comparing import compare
from applyviz.engine.ownership.typed import collect_fields
from applyviz.engine.ownership.versions import make_typed

KUBECTL: Final = "kubectl"
MAX_ANNOTATIONS_SIZE: Final = 256 * 1024


def find_annotations(obj: JSONObject) -> dict[str, str] | None:
    """Return the annotations of an object, nulls as empty texts; None if there are none that can be read."""
    found = get_at(obj, ("metadata", "annotations"))
    if not isinstance(found, Mapping) or not all(v is None or isinstance(v, str) for v in found.values()):
        return None
    return {k: v or "" for k, v in found.items()}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_int=read_integer)
    except (ValueError, RecursionError):
        return None


def find_allowed(keeper: Bookkeeper, live: JSONObject) -> FieldSet | None:
    """Return the fields whose live value still is the last applied one; None if that is unknown."""
    text = (find_annotations(live) or {}).get(LAST_APPLIED)
    last = _parse(text) if text else None
    if not isinstance(last, dict) or GroupVersionKind.from_object(last) != keeper.kind.gvk:
        return None
    topology, version = keeper.versions.topology, keeper.api_version
    try:
        present = make_typed(topology, keeper.at_own_version(live), version)
        applied = make_typed(topology, last, version)
    except OwnershipError:
        return None
    change = compare(topology, applied.value, present.value)
    mine = collect_fields(topology, applied.value)
    return mine.difference(change.modified).difference(change.added).difference(change.removed)


def refresh(obj: MutableObject, applied: JSONObject) -> MutableObject:
    """Return the object with its annotation, if it has one, updated to this apply."""
    annotations = find_annotations(obj)
    if annotations is None or not annotations.get(LAST_APPLIED):
        return obj
    text = renew(obj, applied)
    annotations = {**annotations, LAST_APPLIED: text} if text else _without_record(annotations)
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def has_record(obj: JSONObject) -> bool:
    """Return whether an object has an annotation that the server keeps up to date."""
    return bool((find_annotations(obj) or {}).get(LAST_APPLIED))


def renew(obj: JSONObject, applied: JSONObject) -> str:
    """Return the annotation of an object after this apply; "" if it would make the annotations too large."""
    text = _render(applied)
    annotations = {**(find_annotations(obj) or {}), LAST_APPLIED: text}
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    return "" if size > MAX_ANNOTATIONS_SIZE else text


def with_record(obj: JSONObject, text: str) -> JSONObject:
    """Return an object with another text of the annotation; without the annotation if the text is empty."""
    metadata = obj.get("metadata") or {}
    kept = _without_record(metadata.get("annotations") or {})
    annotations = {**kept, LAST_APPLIED: text} if text else kept
    others = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**obj, "metadata": {**others, "annotations": annotations} if annotations else others}


def _without_record(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in annotations.items() if name != LAST_APPLIED}


def _render(applied: JSONObject) -> str:
    annotations = find_annotations(applied)
    metadata = applied.get("metadata")
    if isinstance(metadata, Mapping):
        cleaned = {k: v for k, v in metadata.items() if k != "annotations"}
        if annotations is not None:
            cleaned["annotations"] = _without_record(annotations)
        applied = {**applied, "metadata": cleaned}
    return render_json(applied) + "\n"
