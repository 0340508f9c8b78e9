"""Errors in a typed object, worded like the API server: `.spec.ports: duplicate entries …`.

Rule: validation in structured-merge-diff. One error is its text alone; several are listed under `errors:`.
Values in texts are printed as Go prints them. All errors are collected, also where the server stops at one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from applyviz.engine.objects.golang import quote, render_number
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.topology import BOOLEAN, NUMERIC, STRING

TypedError: TypeAlias = tuple[str, str]
"""Where and what; both texts."""

_TYPES = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}


def print_value(value: JSONValue) -> str:
    """Return a JSON value as `%v` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{k}:{print_value(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(print_value, value)) + "]"
    return render_number(value)


def _print_go_syntax(value: JSONValue) -> str:
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        listed = ", ".join(f"{quote(k)}:{_print_go_syntax(value[k])}" for k in sorted(value))
        return f"map[string]interface {{}}{{{listed}}}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_print_go_syntax, value)) + "}"
    return print_value(value)


def expect_scalar(scalar: str, value: JSONValue) -> str:
    """Return the message for a value that is not of the expected scalar form."""
    if scalar == NUMERIC:
        return f"expected numeric (int or float), got {_TYPES.get(type(value), 'map[string]interface {}')}"
    if scalar == STRING:
        return f"expected string, got &value.valueUnstructured{{Value:{_print_go_syntax(value)}}}"
    form = "boolean" if scalar == BOOLEAN else "any scalar"
    return f"expected {form}, got &{{{print_value(value)}}}"


def expect_form(form: str, value: JSONValue) -> str:
    """Return the message for a value that is not a map or not a list."""
    return f"expected {form}, got &{{{print_value(value)}}}"


def list_texts(errors: Sequence[TypedError]) -> tuple[str, ...]:
    """Return each error in one line."""
    return tuple(f"{where}: {what}" if where else what for where, what in errors)


def render_errors(errors: Sequence[TypedError]) -> str:
    """Return all errors as one text."""
    texts = list_texts(errors)
    return texts[0] if len(texts) == 1 else "\n".join(("errors:", *(f"  {t}" for t in texts)))


def render_kind(gvk: GroupVersionKind) -> str:
    """Return a kind as messages name it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`."""
    return f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"


def name_object(obj: JSONObject) -> str:
    """Return an object as messages name it: `default/web; apps/v1, Kind=Deployment`."""
    ref = ObjectRef.from_object(obj)
    return f"{ref.namespace}/{ref.name}; {render_kind(ref.gvk)}"
