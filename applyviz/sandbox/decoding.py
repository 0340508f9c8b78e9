"""Reading an object of a built-in kind as the server does: JSON into a Go struct and back.

Rule: sigs.k8s.io/json and k8s.io/apimachinery `runtime/serializer/json`. Wrong types are refused with Go's
words, unknown fields are collected for `fieldValidation`, empty values are dropped or filled as the
struct's tags say, quantities, times and bytes are written canonically. Inputs are not changed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.sandbox.gotypes import Code, GoField, GoStruct, go_types, is_struct, is_written_empty, zero_of
from applyviz.sandbox.quantities import PATTERN, canonical_quantity

_EMPTY: tuple[JSONValue, ...] = (None, "", False, 0)


class DecodeError(Exception):
    """The JSON does not fit the Go struct; the text is Go's."""


@dataclass(slots=True)
class Decoded:
    """An object as the server holds it, and the fields that it does not know."""

    obj: MutableObject
    unknown: list[str] = field(default_factory=list)


def decode(obj: JSONObject, struct: GoStruct) -> Decoded:
    """Read an object as a struct.

    - Raises `DecodeError` with the first problem, as Go's decoder reports it.
    """
    decoder = _Decoder()
    result = decoder.struct(obj, struct, "", "")
    if decoder.problems:
        raise DecodeError(decoder.problems[0])
    return Decoded(result, decoder.unknown)


def _json_word(value: JSONValue) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class _Decoder:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.unknown: list[str] = []
        # Go names the innermost struct and the path of field names without indices.
        self.owner = ""
        self.go_path = ""
        self.go_type = ""

    def struct(self, value: JSONObject, struct: GoStruct, path: str, go_path: str) -> MutableObject:
        result: MutableObject = {}
        fields = struct.fields
        for name, item in value.items():
            spec = fields.get(name)
            at = f"{path}.{name}" if path else name
            if spec is None:
                self.unknown.append(f'unknown field "{at}"')
                continue
            down = f"{go_path}.{name}" if go_path else name
            self.owner, self.go_path, self.go_type = struct.go_name, down, spec.go_type
            written = self.value(item, spec.code, at, down)
            if not self._is_dropped(written, spec):
                result[name] = written
        for name, spec in fields.items():
            if name not in result and is_written_empty(spec):
                result[name] = zero_of(spec.code)
        return result

    @staticmethod
    def _is_dropped(written: JSONValue, spec: GoField) -> bool:
        code = spec.code
        if not isinstance(code, str):
            if code[0] == "*":
                return written is None and spec.drops_empty
            return not written and spec.drops_empty
        if spec.drops_zero and (written in _EMPTY or written == {}):
            return True
        return spec.drops_empty and not is_struct(code) and written in _EMPTY

    def value(self, value: JSONValue, code: Code, path: str, go_path: str) -> JSONValue:
        if isinstance(code, str):
            return zero_of(code) if value is None else self.plain(value, code, path, go_path)
        if value is None:
            return None
        mark, inner = code[0], code[1]
        if mark == "*":
            return self.value(value, inner, path, go_path)
        if mark == "[":
            return self.list(value, inner, path, go_path)
        return self.map(value, code, path, go_path)

    def list(self, value: JSONValue, inner: Code, path: str, go_path: str) -> JSONValue:
        if not isinstance(value, list):
            return self._wrong_type(value, None)
        owner, go_type = self.owner, self.go_type
        result = []
        for i, item in enumerate(value):
            self.owner, self.go_path, self.go_type = owner, go_path, go_type.removeprefix("[]")
            result.append(self.value(item, inner, f"{path}[{i}]", go_path))
        return result

    def map(self, value: JSONValue, code: Code, path: str, go_path: str) -> JSONValue:
        if not isinstance(value, Mapping):
            return self._wrong_type(value, None)
        owner, element = self.owner, code[2].rpartition("]")[2]
        result = {}
        for key, item in value.items():
            self.owner, self.go_path, self.go_type = owner, go_path, element
            result[key] = self.value(item, code[1], f"{path}.{key}", go_path)
        return result

    def plain(self, value: JSONValue, code: str, path: str, go_path: str) -> JSONValue:
        reader = _READERS.get(code)
        if reader is not None:
            return reader(self, value)
        if code in ("B", "A", "S"):
            return self.schema_or(value, code, path, go_path)
        if code.startswith(("int", "uint")):
            return self.integer(value)
        struct = go_types().find_struct(code)
        if struct is None:
            return clone(value)
        if not isinstance(value, Mapping):
            return self._wrong_type(value, zero_of(code))
        return self.struct(value, struct, path, go_path)

    def schema_or(self, value: JSONValue, code: str, path: str, go_path: str) -> JSONValue:
        props = "apiextensions/v1.JSONSchemaProps"
        if isinstance(value, Mapping):
            return self.plain(value, props, path, go_path)
        if isinstance(value, list) and code == "A":
            return self.list(value, props, path, go_path)
        return clone(value)

    def _wrong_type(self, value: JSONValue, instead: JSONValue, word: str = "") -> JSONValue:
        self.problems.append(
            f"json: cannot unmarshal {word or _json_word(value)} into Go struct field "
            f"{self.owner}.{self.go_path} of type {self.go_type}"
        )
        return instead

    def string(self, value: JSONValue) -> JSONValue:
        return value if isinstance(value, str) else self._wrong_type(value, "")

    def boolean(self, value: JSONValue) -> JSONValue:
        return value if isinstance(value, bool) else self._wrong_type(value, False)

    def integer(self, value: JSONValue) -> JSONValue:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        word = f"number {json.dumps(value)}" if isinstance(value, float) else ""
        return self._wrong_type(value, 0, word)

    def number(self, value: JSONValue) -> JSONValue:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if is_number else self._wrong_type(value, 0)

    def bytes(self, value: JSONValue) -> JSONValue:
        if not isinstance(value, str):
            return self._wrong_type(value, None)
        text = value.replace("\n", "").replace("\r", "")
        try:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
        except (binascii.Error, ValueError):
            self.problems.append(f"illegal base64 data at input byte {_bad_byte(text)}")
            return None

    def quantity(self, value: JSONValue) -> JSONValue:
        text = value if isinstance(value, str) else json.dumps(value)
        canonical = canonical_quantity(text.strip())
        if canonical is None:
            empty = "" if text else "quantities must match the regular expression"
            self.problems.append(f"quantities must match the regular expression '{PATTERN}'" if text else empty)
            return "0"
        return canonical

    def int_or_string(self, value: JSONValue) -> JSONValue:
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        word = f"number {json.dumps(value)}" if isinstance(value, float) else ""
        self.problems.append(f"json: cannot unmarshal {word or _json_word(value)} into Go value of type int32")
        return 0

    def time(self, value: JSONValue) -> JSONValue:
        if not isinstance(value, str):
            self.problems.append(f"json: cannot unmarshal {_json_word(value)} into Go value of type string")
            return None
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.problems.append(
                f'parsing time {json.dumps(value)} as "2006-01-02T15:04:05Z07:00": '
                f'cannot parse {json.dumps(value)} as "2006"'
            )
            return None
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def raw(self, value: JSONValue) -> JSONValue:
        return clone(value)


def _bad_byte(text: str) -> int:
    alphabet = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    for i, char in enumerate(text):
        if char not in alphabet:
            return i
    return len(text) // 4 * 4


_READERS = {
    "s": _Decoder.string,
    "b": _Decoder.boolean,
    "f": _Decoder.number,
    "y": _Decoder.bytes,
    "Q": _Decoder.quantity,
    "I": _Decoder.int_or_string,
    "T": _Decoder.time,
    "M": _Decoder.raw,
    "D": _Decoder.raw,
    "R": _Decoder.raw,
}
