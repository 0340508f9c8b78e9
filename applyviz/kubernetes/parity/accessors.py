"""Read one value inside a custom resource as a Go program does, with its error for a value of another type.

Rule: `NestedInt64` and `NestedString` of k8s.io/apimachinery `pkg/apis/meta/v1/unstructured`, which the scale
subresource uses. An absent value is no error; null at the end of the path is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.merge.printed import print_value
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONObject, JSONValue

_GO_TYPES = {
    type(None): "<nil>",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


class AccessError(ApplyVizError):
    """A value is of another type than the expected one."""


def read_integer(obj: JSONObject, path: Sequence[str]) -> int | None:
    """Return the integer at a path, None if absent; raises `AccessError`."""
    is_there, value = _find(obj, path)
    if is_there and (isinstance(value, bool) or not isinstance(value, int)):
        raise _refuse(path, value, "int64")
    return value if isinstance(value, int) else None


def read_text(obj: JSONObject, path: Sequence[str]) -> str:
    """Return the text at a path, "" if absent; raises `AccessError`."""
    is_there, value = _find(obj, path)
    if is_there and not isinstance(value, str):
        raise _refuse(path, value, "string")
    return value if isinstance(value, str) else ""


def _find(obj: JSONObject, path: Sequence[str]) -> tuple[bool, JSONValue]:
    value: JSONValue = obj
    for count, name in enumerate(path):
        if value is None:
            return False, None
        if not isinstance(value, Mapping):
            raise _refuse(path[: count + 1], value, "map[string]interface{}")
        if name not in value:
            return False, None
        value = value[name]
    return True, value


def _refuse(path: Sequence[str], value: JSONValue, wanted: str) -> AccessError:
    found = _GO_TYPES[type(value)]
    return AccessError(
        f".{'.'.join(path)} accessor error: {print_value(value)} is of the type {found}, expected {wanted}"
    )
