"""Find a field by its path without a schema: list entries are found by the keys in the path.

Rule: an entry of `ports` without a protocol has TCP, the default that names it. Left out on purpose: duplicate entries;
the first is found (`schema.walk` knows both).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from applyviz.engine.objects import paths
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue, is_same_json


class _Absent:
    """The value of an absent field."""


ABSENT: Final[Any] = _Absent()


def _is_entry(item: JSONValue, keys: Mapping[str, JSONValue]) -> bool:
    return isinstance(item, Mapping) and all(
        is_same_json(item[name], wanted) if name in item else name == "protocol" and wanted == "TCP"
        for name, wanted in keys.items()
    )


def _step(value: JSONValue, element: PathElement) -> JSONValue:
    kind, named = element[0], paths.element_value(element)
    if kind == "f":
        return value[named] if isinstance(value, Mapping) and named in value else ABSENT
    if not isinstance(value, list):
        return ABSENT
    if kind == "i":
        return value[named] if 0 <= named < len(value) else ABSENT
    for item in value:
        if _is_entry(item, named) if kind == "k" else is_same_json(item, named):
            return item
    return ABSENT


def find_value(obj: JSONValue, path: FieldPath) -> JSONValue:
    """Look up a field; `ABSENT` if a step is missing."""
    value = ABSENT if obj is None else obj
    for element in path:
        if value is ABSENT:
            return ABSENT
        value = _step(value, element)
    return value
