"""Convert plans and changes to plain JSON values and back, without loss.

Every record of a plan is written by its fields, without those at their defaults; references are lists, enums
their text, and kinds of risks their slug. Types are inspected once each: a plan has hundreds of values of a few types
per object. Versions, requests and fields of a change are packed (`packing.py`). A format version is added on top, so
that other formats are refused.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Container, Mapping
from dataclasses import MISSING, is_dataclass
from enum import StrEnum
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.errors import PlanError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.packing import (
    pack_bodies,
    pack_fields,
    pack_versions,
    unpack_bodies,
    unpack_fields,
    unpack_paths,
    unpack_versions,
)
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RiskKind, find_kind

_T = TypeVar("_T")
FORMAT = 1
"""The format of stored options; digests cover it."""
CHANGE_FORMAT = 2
"""The format of stored changes."""
_PACKED = frozenset({"versions", "requests", "fields"})

# Values of these types are written as they are; most values of a change are, so they are recognized first.
_PLAIN = frozenset({str, int, float, bool, type(None), dict, list})


class _Field(NamedTuple):
    """How a field is written: its name, its default, and the type that a value must have to be the default."""

    name: str
    default: Any = NODEFAULT
    kind: type | None = None


def to_json(value: Any) -> Any:
    """Return a value of a plan as JSON; plain JSON values are unchanged."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, RiskKind):
        return value.slug
    fields = _list_fields(value.__class__)
    if fields is not None:
        return _fields_to_json(value, fields)
    if isinstance(value, StrEnum):
        return value.value
    return [to_json(item) for item in value] if isinstance(value, tuple) else value


def _fields_to_json(value: Any, fields: tuple[_Field, ...]) -> JSONObject:
    found = {}
    for name, default, kind in fields:
        current = getattr(value, name)
        if default is not NODEFAULT and (kind is None or type(current) is kind) and current == default:
            continue
        found[name] = current if type(current) in _PLAIN else to_json(current)
    return found


@cache
def _list_fields(cls: Any) -> tuple[_Field, ...] | None:
    """Return the fields of a record, inspected once; None for other types."""
    if issubclass(cls, Struct):
        return tuple(_describe(one.name, one.default, one.default_factory, NODEFAULT) for one in structs.fields(cls))
    if is_dataclass(cls):
        return tuple(_describe(one.name, one.default, one.default_factory, MISSING) for one in dataclasses.fields(cls))
    return None


def _describe(name: str, default: object, make: object, absent: object) -> _Field:
    if default is not absent:
        return _Field(name, default, type(default))
    if make is not absent:
        return _Field(name, cast("Callable[[], object]", make)())
    return _Field(name)


CORE = frozenset(
    {
        *("format", "ref", "operation", "versions", "requests", "certainty", "method", "step", "ignored"),
        *("addon", "is_record", "subresource"),
    }
)
"""The members of a stored change that `core_from_json` reads."""


def from_json(wanted: type[_T], data: JSONValue) -> _T:
    """Return a value of the given type from JSON.

    - Raises `PlanError` for data of another type.
    """
    read: Callable[[Any], _T] = _reader(cast("Any", wanted))
    return _read(read, wanted, data)


Reader = Callable[[Any], Any]


def _read(read: Callable[[Any], _T], wanted: type, data: JSONValue) -> _T:
    try:
        return read(data)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        name = getattr(wanted, "__name__", str(wanted))
        raise PlanError(f"stored {name} cannot be read: {error}") from error


def _keep(data: JSONValue) -> Any:
    return data


@cache
def _reader(wanted: Any) -> Reader:
    """Return the function that reads a type, made once from its annotations."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return partial(_read_optional, _reader(next(a for a in args if a is not type(None))))
    if origin is tuple:
        return partial(_read_items, _reader(args[0]))
    if wanted is RiskKind:
        return find_kind
    if isinstance(wanted, type):
        if issubclass(wanted, Struct) or is_dataclass(wanted):
            return partial(_read_fields, wanted)
        if issubclass(wanted, StrEnum):
            return wanted
        if issubclass(wanted, tuple):
            return partial(_read_places, wanted)
    # Everything else is plain JSON: text, numbers, booleans, objects and Any.
    return _keep


def _read_optional(read: Reader, data: JSONValue) -> Any:
    return None if data is None else read(data)


def _read_items(read: Reader, data: Any) -> Any:
    return tuple(map(read, data))


def _read_fields(wanted: type, data: Any) -> Any:
    readers = _field_readers(wanted)
    return wanted(**{name: readers[name](item) for name, item in data.items()})


def _read_places(wanted: type, data: Any) -> Any:
    return wanted(*(read(item) for read, item in zip(_field_readers(wanted).values(), data, strict=True)))


@cache
def _field_readers(wanted: type) -> Mapping[str, Reader]:
    """Return the readers of the fields of a class; made at its first value, because a class may contain itself."""
    return {name: _reader(hint) for name, hint in get_type_hints(wanted).items()}


def _open(data: JSONObject, expected: int) -> JSONObject:
    if data.get("format") != expected:
        raise PlanError(f"stored plan has format {data.get('format')!r}, expected {expected}")
    return {k: v for k, v in data.items() if k != "format"}


def change_to_json(change: PlannedObject) -> JSONObject:
    """Return a change as JSON."""
    found = {
        "format": CHANGE_FORMAT,
        **_fields_to_json(change, _list_unpacked()),
        "versions": pack_versions(change.versions),
    }
    if change.requests:
        found["requests"] = pack_bodies(map(to_json, change.requests), change.versions.manifest)
    if change.fields:
        found["fields"] = pack_fields(change.fields, to_json)
    return found


@cache
def _list_unpacked() -> tuple[_Field, ...]:
    return tuple(field for field in _list_fields(PlannedObject) or () if field.name not in _PACKED)


def change_from_json(data: JSONObject) -> PlannedObject:
    """Return a change from JSON.

    - Raises `PlanError`.
    """
    return _read(_unpack, PlannedObject, _open(data, CHANGE_FORMAT))


def core_from_json(data: JSONObject) -> PlannedObject:
    """Return the parts of a change that a sender needs: object, operation, versions, requests, certainty.

    - Raises `PlanError`.
    """
    core = {name: value for name, value in _open(data, CHANGE_FORMAT).items() if name in CORE}
    return _read(_unpack, PlannedObject, core)


def requests_from_json(data: JSONObject) -> tuple[Request, ...]:
    """Return the requests of a stored change, and nothing else of it.

    - Raises `PlanError`.
    """
    return _read(_unpack_requests, PlannedObject, _open(data, CHANGE_FORMAT))


def _unpack_requests(data: JSONObject) -> Any:
    packed = data["versions"]  # the manifest is written as what differs from live
    found = unpack_versions({name: packed[name] for name in ("live", "manifest") if name in packed})
    return _field_readers(PlannedObject)["requests"](unpack_bodies(data.get("requests", ()), found.get("manifest")))


def paths_from_json(data: JSONObject, operations: Container[FieldOperation]) -> list[FieldPath]:
    """Return the paths of the fields of a stored change with one of these operations, and nothing else of it.

    - Raises `PlanError`.
    """
    return _read(partial(_unpack_paths, operations), PlannedObject, _open(data, CHANGE_FORMAT))


def _unpack_paths(operations: Container[FieldOperation], data: JSONObject) -> list[FieldPath]:
    return unpack_paths(data["fields"], lambda one: one["operation"] in operations) if "fields" in data else []


def _unpack(data: JSONObject) -> PlannedObject:
    versions = unpack_versions(data["versions"])
    requests = unpack_bodies(data.get("requests", ()), versions.get("manifest"))
    plain = {name: value for name, value in data.items() if name not in _PACKED}
    readers = _field_readers(PlannedObject)
    read = {name: readers[name](value) for name, value in {**plain, "versions": versions, "requests": requests}.items()}
    return PlannedObject(**read, fields=_unpack_fields(data))


def _unpack_fields(data: JSONObject) -> tuple[FieldReason, ...]:
    return unpack_fields(data["fields"], _read_reason) if "fields" in data else ()


def _read_reason(data: JSONObject) -> FieldReason:
    reason: FieldReason = _reader(FieldReason)(data)
    return reason


def options_to_json(options: ApplyOptions) -> JSONObject:
    """Return options as JSON, as a target and a preset store them."""
    return {"format": FORMAT, **to_json(options)}


def options_from_json(data: JSONObject) -> ApplyOptions:
    """Return options from JSON.

    - Raises `PlanError`.
    """
    return from_json(ApplyOptions, _open(data, FORMAT))
