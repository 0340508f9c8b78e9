"""Check the items of `List` documents as kubectl does under strict validation, before it sends anything.

Rule: the API server cannot validate a List as a whole, so kubectl compares each item with its schema: unknown fields,
missing required fields, values of another type. Text accepts any scalar; null fields are ignored; unknown kinds pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.schema.model import Node

_SCALARS = {"boolean": (bool,), "integer": (int, float), "number": (int, float)}


def _type_name(value: JSONValue) -> str:
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    return {int: "integer", float: "number", str: "string"}.get(type(value), "nil")


def _check_fields(value: JSONObject, node: Node, path: str) -> Iterator[str]:
    for key in sorted(value):
        if value[key] is None:
            continue
        child = node.properties.get(key)
        if child is None:
            yield f'ValidationError({path}): unknown field "{key}"'
        else:
            yield from _check(value[key], child, f"{path}.{key}")
    for key in node.required:
        if value.get(key) is None:
            yield f'ValidationError({path}): missing required field "{key}"'


def _check_entries(value: JSONObject, node: Node, path: str) -> Iterator[str]:
    for key in sorted(value):
        if value[key] is None:
            yield f"unknown object type nil in {path}.{key}"
        elif node.additional is not None:
            yield from _check(value[key], node.additional, f"{path}.{key}")


def _check_items(value: list[JSONValue], node: Node, path: str) -> Iterator[str]:
    for index, item in enumerate(value):
        if item is None:
            yield f"ValidationError({path}[{index}]): unknown object type nil"
        elif node.items is not None:
            yield from _check(item, node.items, f"{path}[{index}]")


def _is_scalar_fit(value: JSONValue, wanted: str) -> bool:
    if wanted == "string":
        return not isinstance(value, (Mapping, list))
    return isinstance(value, _SCALARS[wanted]) and (wanted == "boolean") == isinstance(value, bool)


def _check(value: JSONValue, node: Node, path: str) -> Iterator[str]:
    wanted = node.type
    if node.preserves_unknown or node.is_int_or_string or (not wanted and not node.properties):
        return
    if node.properties or wanted == "object":
        if not isinstance(value, Mapping):
            yield f"ValidationError({path}): invalid type: got {_type_name(value)}, expected map"
        elif node.properties:
            yield from _check_fields(value, node, path)
        else:
            yield from _check_entries(value, node, path)
    elif wanted == "array":
        if isinstance(value, list):
            yield from _check_items(value, node, path)
        else:
            yield f"ValidationError({path}): invalid type: got {_type_name(value)}, expected array"
    elif wanted in ("string", *_SCALARS) and not _is_scalar_fit(value, wanted):
        yield f"ValidationError({path}): invalid type: got {_type_name(value)}, expected {wanted}"


def check_item(obj: JSONObject, catalog: Catalog) -> tuple[str, ...]:
    """Return everything that kubectl would refuse in one item of a List."""
    gvk = GroupVersionKind.from_object(obj)
    kind = catalog.find_kind(gvk)
    return tuple(_check(obj, kind.root, gvk.kind)) if kind is not None and kind.root is not None else ()
