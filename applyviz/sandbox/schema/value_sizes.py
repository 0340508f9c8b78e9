"""How large the values of a schema are at least and at most, and how many of them an object has at most.

Rule: `pkg/cel/common/schemas.go` of k8s.io/apiserver v0.36.3: a value without a limit is as large as the
greatest request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from applyviz.engine.objects.values import JSONObject

REQUEST_BYTES: Final = 3 * 1024 * 1024
_LEAST_TEXTS: Final = {"duration": 3, "date": 12, "date-time": 21}
_MOST_TEXTS: Final = {"duration": 32, "date": 12, "date-time": 32}
_LEAST: Final = {"boolean": 4, "number": 1, "integer": 1, "array": 2}
_IS_EITHER: Final = "x-kubernetes-int-or-string"


def find_least(schema: JSONObject, *, is_resource: bool = False) -> int:
    """Return how many bytes a value has at least."""
    kind = schema.get("type")
    if schema.get(_IS_EITHER):
        return 1
    if kind == "string":
        return _LEAST_TEXTS.get(schema.get("format") or "", 2)
    if kind != "object" or isinstance(schema.get("additionalProperties"), Mapping):
        return 2 if is_resource else _LEAST.get(str(kind), 2)
    needed = [name for name in schema.get("required") or () if name in (schema.get("properties") or {})]
    children = {name: schema["properties"][name] for name in needed}
    return 2 + sum(len(name) + find_least(one) + 4 for name, one in children.items() if "default" not in one)


def find_most(schema: JSONObject) -> int:
    """Return how many letters or entries a value has at most; 0 for what has none."""
    kind, form = schema.get("type"), schema.get("format") or ""
    if schema.get(_IS_EITHER) or kind == "string":
        return _find_longest(schema, form)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        limit = schema.get("maxItems")
        return int(limit) if limit is not None else (REQUEST_BYTES - 2) // (find_least(schema["items"]) + 1)
    additional = schema.get("additionalProperties")
    if kind == "object" and isinstance(additional, Mapping):
        limit = schema.get("maxProperties")
        return int(limit) if limit is not None else (REQUEST_BYTES - 2) // (find_least(additional) + 6)
    return 0


def _find_longest(schema: JSONObject, form: str) -> int:
    limit = schema.get("maxLength")
    if form in _MOST_TEXTS and not schema.get(_IS_EITHER):
        return _MOST_TEXTS[form]
    if limit is not None:
        return int(limit) if form == "byte" else 4 * int(limit)
    texts = [one for one in schema.get("enum") or () if isinstance(one, str)]
    if texts and form != "byte" and not schema.get(_IS_EITHER):
        return max(len(one.encode()) for one in texts)
    return REQUEST_BYTES - 2


def count_entries(schema: JSONObject) -> int | None:
    """Return the limit that a schema sets to the number of entries of its value, None without one."""
    kind = schema.get("type")
    if kind == "array":
        limit = schema.get("maxItems")
    elif kind == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    else:
        return 1
    return None if limit is None else int(limit)


def count_values(schema: JSONObject, *, is_resource: bool = False) -> int:
    """Return how many values of a schema a request holds at most, where nothing limits them."""
    return REQUEST_BYTES // (find_least(schema, is_resource=is_resource) + 1)
