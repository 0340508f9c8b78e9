"""Print a JSON value as Go does with `%v`.

Strategic merge sorts lists and words its errors by that form, so the order of a patch depends on it. Rule:
https://pkg.go.dev/fmt (maps print sorted by key). Left out: values that JSON does not have.
"""

from __future__ import annotations

from applyviz.engine.objects.golang import render_number
from applyviz.engine.objects.values import JSONValue


def print_value(value: JSONValue) -> str:
    """Write a JSON value as Go's `%v` does: `map[a:1 b:[x y]]`, `<nil>`, `true`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return render_number(value)
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{print_value(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(print_value, value)) + "]"
    return str(value)


def print_text(value: JSONValue) -> str:
    """Write a JSON value as Go's `%s` does: values inside it that are not strings are marked."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{print_text(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(print_text, value)) + "]"
    return "%!s(<nil>)" if value is None else f"%!s({print_type(value)}={print_value(value)})"


def print_type(value: JSONValue) -> str:
    """Name the Go type of a JSON value as the merge's errors do."""
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")
