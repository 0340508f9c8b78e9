"""Return objects in the form that a client requests: as objects, as a table that `kubectl get` shows, or metadata only.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.api.cluster_columns import CLUSTER_COLUMNS
from applyviz.sandbox.api.columns import NAME, TableColumn, at
from applyviz.sandbox.api.component_statuses import COLUMNS
from applyviz.sandbox.api.custom_columns import list_custom_columns
from applyviz.sandbox.api.watches import ERROR, WatchEvent
from applyviz.sandbox.api.workload_columns import SCALE_COLUMNS, WORKLOAD_COLUMNS
from applyviz.sandbox.storage.resources import ResourceTarget

_METADATA_KINDS = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})
# The columns of a kind that declares none.
_USUAL = (NAME, TableColumn("Created At", at("metadata", "creationTimestamp", default="<unknown>"), "date"))
_COLUMNS: Mapping[str, Sequence[TableColumn]] = {**COLUMNS, **WORKLOAD_COLUMNS, **CLUSTER_COLUMNS}


def _list_columns(target: ResourceTarget, subresource: str) -> Sequence[TableColumn]:
    if subresource == "scale":
        return SCALE_COLUMNS
    if target.struct is None:
        return list_custom_columns(target)
    return _COLUMNS.get(target.plural, _USUAL)


def _only_metadata(obj: JSONObject) -> MutableObject:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _render_table(
    target: ResourceTarget, body: JSONObject, now: datetime, *, include: str, subresource: str
) -> MutableObject:
    """Return the table of a list or of one object; `include` is Metadata, Object or None."""
    is_list = isinstance(body.get("items"), list)
    items: Sequence[JSONObject] = body["items"] if is_list else [body]
    columns = _list_columns(target, subresource)
    rows = []
    for item in items:
        row: MutableObject = {"cells": [column.read(item, now) for column in columns]}
        if include != "None":
            typed = {"kind": target.gvk.kind, "apiVersion": target.gvk.api_version, **item}
            row["object"] = typed if include == "Object" else _only_metadata(item)
        rows.append(row)
    metadata = body["metadata"] if is_list else {"resourceVersion": body["metadata"].get("resourceVersion", "")}
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_define(column) for column in columns],
        "rows": rows,
    }


def _define(column: TableColumn) -> MutableObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.name,
        "priority": int(column.is_wide),
    }


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
        return _render_table(target, body, now, include=include, subresource=subresource)
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
        items = [_only_metadata(o) for o in body["items"]]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return {**head, "metadata": body["metadata"], "items": items}
    return _only_metadata(body)
