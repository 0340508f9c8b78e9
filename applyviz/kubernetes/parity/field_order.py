"""Order fields as in the JSON that a server writes: errors about patched objects quote it whole.

Rule: `encoding/json`: fields of a struct in their order, keys of a map sorted. A patch is applied to the text, so maps
that it changes come out sorted, and values that it adds keep their order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from applyviz.engine.objects.golang import json_number, json_string
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.kubernetes.parity.go_types import Code, GoStruct, go_types
from applyviz.kubernetes.parity.json_text import Written, list_pairs

_ELEMENTS = frozenset(("f:", "k:", "v:", "i:"))
_RAW = frozenset(("R", "D"))
_SCHEMAS = frozenset(("A", "B", "S"))


def order_as_served(struct: GoStruct | None, obj: JSONObject) -> MutableObject:
    """Return the same object in the order of the struct; without one, all keys sorted."""
    return _order_struct(obj, struct) if struct is not None else _order_map(obj, None)


def _order_map(value: JSONObject, inner: Code) -> MutableObject:
    return {name: _order(value[name], inner) for name in sorted(value)}


def _order_struct(value: JSONObject, struct: GoStruct) -> MutableObject:
    ordered = {name: _order(value[name], field.code) for name, field in struct.fields.items() if name in value}
    return ordered | {name: item for name, item in value.items() if name not in ordered}


def _order(value: JSONValue, code: Code) -> JSONValue:
    if isinstance(code, list):
        mark, inner = code[0], code[1]
        if mark == "*":
            return _order(value, inner)
        if mark == "{" and isinstance(value, dict):
            return _order_map(value, inner)
        return [_order(item, inner) for item in value] if isinstance(value, list) else value
    if isinstance(value, list):
        return [_order(item, code) for item in value]
    if not isinstance(value, dict):
        return value
    if code in _RAW:
        return _order_owned(value) if all(key[:2] in _ELEMENTS or key == "." for key in value) else value
    if code is None:
        return _order_map(value, None)
    struct = go_types().find_struct("apiextensions/v1.JSONSchemaProps" if code in _SCHEMAS else code)
    return _order_struct(value, struct) if struct is not None else value


def _order_owned(value: JSONObject) -> MutableObject:
    """Return fieldsV1 in the order of the path elements."""
    return {key: _order_owned(value[key]) for key in sorted(value, key=_rank_element)}


def _rank_element(key: str) -> tuple[Any, ...]:
    mark, text = key[:2], key[2:]
    if key == ".":
        return (-1,)
    if mark == "f:":
        return 0, text
    if mark == "k:":
        return 1, [(name, *_rank_value(value)) for name, value in sorted(json.loads(text).items())]
    return (2, *_rank_value(json.loads(text))) if mark == "v:" else (3, int(text))


def _rank_value(value: JSONValue) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, json.dumps(value, sort_keys=True))


def render_ordered(value: JSONValue) -> str:
    """Return compact JSON in the order of the value, escaped as in Go."""
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json_string(name)}:{render_ordered(item)}" for name, item in list_pairs(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(render_ordered, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, Written) else json_number(value)
