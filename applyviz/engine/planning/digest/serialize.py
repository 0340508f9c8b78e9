"""Convert plans and changes to plain JSON values and back, without loss.

Every frozen dataclass of a plan is written by its fields, without those at their defaults; references are lists, enums
their text. A format version is added on top, so that stored plans stay readable.
"""

from __future__ import annotations

import dataclasses
import types
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions

FORMAT = 1
T = TypeVar("T")


def to_json(value: Any) -> JSONValue:
    """Return a value of a plan as JSON; plain JSON values are unchanged."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_json(current)
            for f in dataclasses.fields(value)
            if not _is_default(f, current := getattr(value, f.name))
        }
    if isinstance(value, StrEnum):
        return value.value
    return [to_json(item) for item in value] if isinstance(value, tuple) else value


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if field.default is not dataclasses.MISSING:
        return type(value) is type(field.default) and bool(value == field.default)
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    return False


_CORE = frozenset({"ref", "operation", "versions", "requests", "certainty", "method", "step", "ignored"})


@lru_cache(maxsize=256)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def from_json(wanted: Any, data: JSONValue) -> Any:
    """Return a value of the given type from JSON.

    - Raises `PlanError` for data of another type.
    """
    try:
        return _read(wanted, data)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        name = getattr(wanted, "__name__", str(wanted))
        raise PlanError(f"stored {name} cannot be read: {error}") from error


def _read(wanted: Any, data: JSONValue) -> Any:
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return None if data is None else _read(next(a for a in args if a is not type(None)), data)
    if origin is tuple:
        return tuple(_read(args[0], item) for item in data)
    if isinstance(wanted, type):
        if dataclasses.is_dataclass(wanted):
            hints = _hints(wanted)
            return wanted(**{name: _read(hints[name], item) for name, item in data.items()})
        if issubclass(wanted, StrEnum):
            return wanted(data)
        if issubclass(wanted, tuple):
            hints = _hints(wanted)
            return wanted(*(_read(hint, item) for hint, item in zip(hints.values(), data, strict=True)))
    # Everything else is plain JSON: text, numbers, booleans, objects and Any.
    return data


def _open(data: JSONObject) -> JSONObject:
    if data.get("format") != FORMAT:
        raise PlanError(f"stored plan has format {data.get('format')!r}, expected {FORMAT}")
    return {k: v for k, v in data.items() if k != "format"}


def change_to_json(change: PlannedObject) -> JSONObject:
    """Return a change as JSON."""
    return {"format": FORMAT, **to_json(change)}


def change_from_json(data: JSONObject) -> PlannedObject:
    """Return a change from JSON.

    - Raises `PlanError`.
    """
    change: PlannedObject = from_json(PlannedObject, _open(data))
    return change


def core_from_json(data: JSONObject) -> PlannedObject:
    """Return the parts of a change that a sender needs: object, operation, versions, requests, certainty.

    - Raises `PlanError`.
    """
    core = {name: value for name, value in _open(data).items() if name in _CORE}
    change: PlannedObject = from_json(PlannedObject, core)
    return change


def options_to_json(options: ApplyOptions) -> JSONObject:
    """Return options as JSON, as a target and a preset store them."""
    return {"format": FORMAT, **to_json(options)}


def options_from_json(data: JSONObject) -> ApplyOptions:
    """Return options from JSON.

    - Raises `PlanError`.
    """
    options: ApplyOptions = from_json(ApplyOptions, _open(data))
    return options
