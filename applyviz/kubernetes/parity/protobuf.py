"""Convert bodies in Kubernetes' protobuf to JSON; some commands of kubectl send nothing else.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding (envelope `k8s`, `Unknown`) and the
field numbers of the Go structs. Only reading: answers are JSON, which clients recognize by the content type.
"""

from __future__ import annotations

import base64
import json
import struct as binary
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue, MutableObject
from applyviz.kubernetes.parity.go_types import Code, GoStruct, go_types

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_DEPTH = 100


class ProtobufError(ValueError):
    """The bytes are not an object in Kubernetes' protobuf."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected end of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers and raw values of a message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ProtobufError(f"unknown wire type {wire}")
        if at + size > len(data):
            raise ProtobufError("unexpected end of a field")
        yield number, data[at : at + size]
        at += size


def _first(data: bytes, number: int, default: Any = b"") -> Any:
    return next((v for n, v in _fields(data) if n == number), default)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: int | bytes) -> str:
    if isinstance(value, int):
        raise ProtobufError("expected a text, found a number")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a text is not UTF-8") from error


def _time(value: bytes) -> Any:
    seconds = _signed(_first(value, 1, 0))
    if not value:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _int_or_string(value: bytes) -> Any:
    parts = dict(_fields(value))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(int(parts.get(2, 0)))


def _raw(value: bytes) -> Any:
    text = _first(value, 1)
    return json.loads(text) if text else None


def _float(value: bytes) -> Any:
    number: float = binary.unpack("<d", value)[0]
    return number


_READERS: Mapping[str, Callable[[bytes], JSONValue]] = {
    "s": _text,
    "f": _float,
    "y": lambda value: base64.b64encode(value).decode(),
    "T": _time,
    "M": _time,
    "Q": lambda value: _text(_first(value, 1)) or "0",
    "I": _int_or_string,
    "R": _raw,
}


def _read_plain(value: int | bytes, code: str, depth: int) -> Any:
    if code == "b":
        return bool(value)
    if code.startswith(("int", "uint")):
        return _signed(value) if isinstance(value, int) else 0
    if isinstance(value, int):
        raise ProtobufError("expected bytes, found a number")
    reader = _READERS.get(code)
    if reader is not None:
        return reader(value)
    struct = go_types().find_struct(code)
    if struct is None:
        raise ProtobufError(f"cannot read a field of type {code}")
    return _read_struct(value, struct, depth + 1)


def _read_struct(data: bytes, struct: GoStruct, depth: int) -> MutableObject:
    """Return a message as the JSON object of its struct; empty fields stay, decoding drops them later."""
    if depth > _DEPTH:
        raise ProtobufError("the object is nested too deeply")
    numbers = {f.number: f for f in struct.fields.values() if f.number}
    inner = {n.partition("/")[0] for n in numbers if "/" in n}
    result: MutableObject = {}
    for number, value in _fields(data):
        key = str(number)
        if key in inner and isinstance(value, bytes):
            for below, deep in _fields(value):
                _store(result, numbers.get(f"{key}/{below}"), deep, depth)
        else:
            _store(result, numbers.get(key), value, depth)
    return result


def _store(result: MutableObject, field: Any, value: int | bytes, depth: int) -> None:
    if field is None:
        return
    code: Code = field.code
    while not isinstance(code, str) and code[0] == "*":
        code = code[1]
    if isinstance(code, str):
        result[field.name] = _read_plain(value, code, depth)
    elif code[0] == "[":
        result.setdefault(field.name, []).append(_read_plain(value, code[1], depth))
    elif isinstance(value, bytes):
        entry = dict(_fields(value))
        entry_value = _read_map_value(entry.get(2, b""), code[1], depth)
        result.setdefault(field.name, {})[_text(entry.get(1, b""))] = entry_value


def _read_map_value(value: int | bytes, code: Code, depth: int) -> Any:
    if isinstance(code, str):
        return _read_plain(value, code, depth)
    # A list inside a map is a message whose first field repeats.
    return [_read_plain(v, code[1], depth) for n, v in _fields(value) if n == 1] if isinstance(value, bytes) else []


def read_protobuf(data: bytes) -> MutableObject:
    """Return the object of a body.

    - Raises `ProtobufError` if the body is malformed, or not of a built-in kind.
    """
    if not data.startswith(_MAGIC):
        raise ProtobufError("the body does not begin as Kubernetes' protobuf does")
    try:
        envelope = dict(_fields(data[len(_MAGIC) :]))
        type_meta = dict(_fields(envelope.get(1, b"")))  # type: ignore[arg-type]
        api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
        struct = go_types().find_kind(GroupVersionKind.from_api_version(api_version, kind))
        if struct is None:
            raise ProtobufError(f"no kind {kind} in {api_version}")
        return {**_read_struct(envelope.get(2, b""), struct, 0), "apiVersion": api_version, "kind": kind}  # type: ignore[arg-type]
    except (TypeError, AttributeError, binary.error) as error:
        raise ProtobufError(f"a field has an unexpected form: {error}") from error
