"""Render lists as tables, as `kubectl get` shows them.

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
from applyviz.sandbox.api.workload_columns import SCALE_COLUMNS, WORKLOAD_COLUMNS
from applyviz.sandbox.storage.resources import ResourceTarget

# The columns of a kind that declares none.
_USUAL = (NAME, TableColumn("Created At", at("metadata", "creationTimestamp", default="<unknown>"), "date"))
_COLUMNS: Mapping[str, Sequence[TableColumn]] = {**COLUMNS, **WORKLOAD_COLUMNS, **CLUSTER_COLUMNS}


def _list_columns(target: ResourceTarget, subresource: str) -> Sequence[TableColumn]:
    if subresource == "scale":
        return SCALE_COLUMNS
    if target.struct is None:
        return list_custom_columns(target)
    return _COLUMNS.get(target.plural, _USUAL)


def only_metadata(obj: JSONObject) -> MutableObject:
    """Return an object as its metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def render_table(
    target: ResourceTarget, body: JSONObject, now: datetime, *, include: str = "Metadata", subresource: str = ""
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
            row["object"] = typed if include == "Object" else only_metadata(item)
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
