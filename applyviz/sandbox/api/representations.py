"""Return objects in the form that a client requests: as objects, as a table, or metadata only.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.api.tables import only_metadata, render_table
from applyviz.sandbox.api.watches import ERROR, WatchEvent
from applyviz.sandbox.storage.resources import ResourceTarget

_METADATA_KINDS = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})


def find_form(accept: str) -> str:
    """Return the first requested form that is supported; "" for plain objects."""
    for choice in accept.split(","):
        parts = dict(p.strip().partition("=")[::2] for p in choice.split(";")[1:])
        if parts.get("as") == "Table" or parts.get("as") in _METADATA_KINDS:
            return parts["as"]
        if not parts.get("as"):
            return ""
    return ""


def shape_body(
    target: ResourceTarget,
    body: JSONObject,
    form: str,
    query: Mapping[str, str],
    now: datetime,
    *,
    subresource: str = "",
) -> JSONObject:
    """Return an object or a list in a form; `now` is for the ages in tables."""
    if form == "Table":
        include = query.get("includeObject", "Metadata")
        return render_table(target, body, now, include=include, subresource=subresource)
    return _shrink(body) if form in _METADATA_KINDS else body


def shape_event(
    target: ResourceTarget, event: WatchEvent, form: str, query: Mapping[str, str], now: datetime, *, has_columns: bool
) -> MutableObject:
    """Return one line of a watch; `has_columns`: an earlier event named the columns of the table already."""
    obj = event.object
    if event.type != ERROR:
        obj = shape_body(target, obj, form, query, now)
        if form == "Table" and has_columns:
            obj = {**obj, "columnDefinitions": None}
    return {"type": event.type, "object": obj}


def _shrink(body: JSONObject) -> JSONObject:
    if isinstance(body.get("items"), list):
        items = [only_metadata(o) for o in body["items"]]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return {**head, "metadata": body["metadata"], "items": items}
    return only_metadata(body)
