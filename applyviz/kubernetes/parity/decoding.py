"""Decode an object of a built-in kind as the server does: JSON into a Go struct and back.

Rule: sigs.k8s.io/json and k8s.io/apimachinery `runtime/serializer/json`. Wrong types are refused with Go's messages,
unknown and repeated fields are collected for `fieldValidation`, empty values are dropped or filled in by the struct's
tags, times and bytes are written canonically. Inputs are not changed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from applyviz.engine.manifests.metadata import name_of_type
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.quantities import read_form
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.kubernetes.parity.go_texts import GoTextError, decode_base64, parse_time, read_quantity
from applyviz.kubernetes.parity.go_types import (
    Code,
    GoField,
    GoStruct,
    go_types,
    is_struct,
    is_written_empty,
    item_type,
    zero_of,
)
from applyviz.kubernetes.parity.json_text import Written, list_pairs, number_text, simplify

_T = TypeVar("_T")
_EMPTY: tuple[JSONValue, ...] = (None, "", False, 0)
_MOST_STRICT = 100
# The entries with quantities whose lists are merged by a key; other lists are compared whole.
_MERGED = ("core/v1.Container", "core/v1.EphemeralContainer", "core/v1.EnvVar", "core/v1.Volume")
_PROPS = "apiextensions/v1.JSONSchemaProps"


class DecodeError(Exception):
    """The JSON does not fit the Go struct; the text is Go's."""


@dataclass(eq=False)
class WrongTypeError(DecodeError):
    """A value of another type than the field's: `found` for `go_type`, in the field `path` of the struct `owner`."""

    found: str
    go_type: str
    owner: str = ""
    path: str = ""

    def __str__(self) -> str:
        where = f"struct field {self.owner}.{self.path}" if self.owner or self.path else "value"
        return f"json: cannot unmarshal {self.found} into Go {where} of type {self.go_type}"


@dataclass(slots=True)
class Decoded:
    """An object as the server holds it, and the messages of strict validation."""

    obj: MutableObject
    unknown: list[str] = field(default_factory=list)


class Spot(NamedTuple):
    """The position of a value: its path with indices, and the form in Go's errors (struct, fields, type)."""

    path: str = ""
    owner: str = ""
    fields: str = ""
    go_type: str = ""

    def item(self, number: int, inner: Code) -> Spot:
        """Return the spot of a list entry."""
        return Spot(f"{self.path}[{number}]", self.owner, self.fields, item_type(self.go_type, inner))

    def entry(self, key: str, inner: Code, map_type: str) -> Spot:
        """Return the spot of a map entry."""
        return Spot(f"{self.path}.{key}", self.owner, self.fields, item_type(map_type, inner))


def decode(obj: JSONObject, struct: GoStruct) -> Decoded:
    """Decode an object as a struct.

    - Raises `DecodeError` with the error that Go's decoder reports.
    """
    decoder = Decoder()
    result = decoder.struct(obj, struct, Spot())
    if decoder.saved is not None:
        raise decoder.saved
    return Decoded(result, decoder.list_strict())


class Decoder:
    """One decoding: a wrong type is recorded and decoding goes on; a malformed text ends it."""

    def __init__(self) -> None:
        self.saved: DecodeError | None = None
        self.strict: dict[tuple[str, str], None] = {}
        self.is_atomic = False

    def note(self, word: str, path: str) -> None:
        """Record a message of strict validation, once, and up to a limit."""
        if len(self.strict) < _MOST_STRICT:
            self.strict.setdefault((word, path))

    def list_strict(self) -> list[str]:
        """Return the messages of strict validation, in the order of the text."""
        return [f"{word} field {quote(path)}" for word, path in self.strict]

    def save(self, error: DecodeError) -> None:
        self.saved = self.saved or error

    def wrong(self, value: JSONValue, spot: Spot, instead: JSONValue, found: str = "") -> JSONValue:
        self.save(WrongTypeError(found or name_of_type(value), spot.go_type, spot.owner, spot.fields))
        return instead

    def struct(self, value: JSONObject, struct: GoStruct, spot: Spot) -> MutableObject:
        result: MutableObject = {}
        fields = struct.fields
        seen: set[str] = set()
        for name, item in list_pairs(value):
            spec = fields.get(name)
            at = f"{spot.path}.{name}" if spot.path else name
            if spec is None:
                self.note("unknown", at)
                continue
            below = f"{spot.fields}.{spec.go_path}" if spot.fields else spec.go_path
            if name in seen:
                self.note("duplicate", at)
            written = self.value(item, spec.code, Spot(at, struct.go_name, below, spec.go_type))
            if name in seen:
                written = _read_again(result.get(name), written, item, spec.code)
            seen.add(name)
            if not _is_dropped(written, spec):
                result[name] = written
            else:
                result.pop(name, None)
        for name, spec in fields.items():
            if name not in result and is_written_empty(spec):
                result[name] = zero_of(spec.code)
        return result

    def value(self, value: JSONValue, code: Code, spot: Spot) -> JSONValue:
        if isinstance(code, str):
            return zero_of(code) if value is None else self.plain(value, code, spot)
        if value is None:
            return None
        mark, inner = code[0], code[1]
        if mark == "*":
            return self.value(value, inner, spot)
        if mark == "[":
            return self.list(value, inner, spot)
        return self.map(value, code, spot)

    def list(self, value: JSONValue, inner: Code, spot: Spot) -> JSONValue:
        if not isinstance(value, list):
            return self.wrong(value, spot, None)
        was_atomic = self.is_atomic
        self.is_atomic = was_atomic or inner not in _MERGED
        found = [self.value(item, inner, spot.item(i, inner)) for i, item in enumerate(value)]
        self.is_atomic = was_atomic
        return found

    def map(self, value: JSONValue, code: Code, spot: Spot) -> JSONValue:
        if not isinstance(value, Mapping):
            return self.wrong(value, spot, None)
        result: MutableObject = {}
        for key, item in list_pairs(value):
            if key in result:
                self.note("duplicate", f"{spot.path}.{key}")
            result[key] = self.value(item, code[1], spot.entry(key, code[1], code[2]))
        if code[1] == "y":  # bytes of nothing are stored as none
            return {key: "" if text is None else text for key, text in result.items()}
        return result

    def plain(self, value: JSONValue, code: str, spot: Spot) -> JSONValue:
        reader = _READERS.get(code)
        if reader is not None:
            read: JSONValue = getattr(self, reader)(value, spot)
            return read
        if code.startswith(("int", "uint")):
            return self.integer(value, code, spot)
        struct = go_types().find_struct(code)
        if struct is None:
            return simplify(clone(value))
        if not isinstance(value, Mapping):
            return self.wrong(value, spot, zero_of(code))
        return self.struct(value, struct, spot)

    def schema_or_bool(self, value: JSONValue, spot: Spot) -> JSONValue:
        if isinstance(value, Mapping):
            return self.nested(value, _PROPS, spot)
        if not isinstance(value, bool):
            raise DecodeError("boolean or JSON schema expected")
        return value

    def schema_or_list(self, value: JSONValue, spot: Spot) -> JSONValue:
        if isinstance(value, Mapping):
            return self.nested(value, _PROPS, spot)
        return self.nested(value, ["[", _PROPS], spot) if isinstance(value, list) else None

    def schema_or_names(self, value: JSONValue, spot: Spot) -> JSONValue:
        if isinstance(value, Mapping):
            return self.nested(value, _PROPS, spot)
        return self.nested(value, ["[", "s"], spot) if isinstance(value, list) else None

    def nested(self, value: JSONValue, code: Code, spot: Spot) -> JSONValue:
        """Return a value with its own Go decoder: it is not validated strictly, and its first error ends decoding."""
        inner = Decoder()
        try:
            result = inner.value(value, code, Spot(go_type="[]string" if code == ["[", "s"] else ""))
            if inner.saved is not None:
                raise inner.saved
        except WrongTypeError as error:
            raise self.placed(error, spot) from None
        return result

    def placed(self, error: WrongTypeError, spot: Spot) -> WrongTypeError:
        """Return the error of a separately decoded value as the outer decoder reports it."""
        if not spot.owner:
            return error
        path = f"{spot.fields}.{error.path}" if error.path else spot.fields
        return replace(error, owner=spot.owner, path=path)

    def string(self, value: JSONValue, spot: Spot) -> JSONValue:
        return value if isinstance(value, str) else self.wrong(value, spot, "")

    def boolean(self, value: JSONValue, spot: Spot) -> JSONValue:
        return value if isinstance(value, bool) else self.wrong(value, spot, False)

    def integer(self, value: JSONValue, code: str, spot: Spot) -> JSONValue:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.wrong(value, spot, 0)
        if isinstance(value, float) or not fits_integer(value, code):
            return self.wrong(value, spot, 0, f"number {number_text(value)}")
        return value

    def number(self, value: JSONValue, spot: Spot) -> JSONValue:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.wrong(value, spot, 0)
        return float(value) if isinstance(value, Written) else value

    def bytes(self, value: JSONValue, spot: Spot) -> JSONValue:
        if isinstance(value, list):
            octets: list[Any] = [self.value(item, "uint8", spot._replace(go_type="uint8")) for item in value]
            return base64.b64encode(bytes(octets)).decode()
        if not isinstance(value, str):
            return self.wrong(value, spot, None)
        try:
            return base64.b64encode(decode_base64(value)).decode()
        except GoTextError as error:
            self.save(DecodeError(str(error)))
            return None

    def quantity(self, value: Any, spot: Spot) -> JSONValue:
        if isinstance(value, (dict, list, bool)):
            value = "{"  # no quantity begins with this
        text = (value if isinstance(value, str) else number_text(value)).strip()
        canonical = self.text(read_quantity, text)
        # Go compares the numbers in a list that is replaced whole as it parsed them: `1000m` is not owned there as `1`.
        is_same = not self.is_atomic or read_form(text) == read_form(canonical)
        return canonical if is_same else text

    def int_or_string(self, value: Any, spot: Spot) -> JSONValue:
        if isinstance(value, str) or (type(value) is int and fits_integer(value, "int32")):
            return value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        found = f"number {number_text(value)}" if is_number else name_of_type(value)
        raise self.placed(WrongTypeError(found, "int32"), spot)

    def time(self, value: JSONValue, spot: Spot) -> JSONValue:
        moment = self.text(parse_time, self.time_text(value, spot))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def micro_time(self, value: JSONValue, spot: Spot) -> JSONValue:
        moment = self.text(lambda text: parse_time(text, has_micros=True), self.time_text(value, spot))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def time_text(self, value: JSONValue, spot: Spot) -> str:
        if not isinstance(value, str):
            raise self.placed(WrongTypeError(name_of_type(value), "string"), spot)
        return value

    def text(self, read: Callable[[str], _T], text: str) -> _T:
        try:
            return read(text)
        except GoTextError as error:
            raise DecodeError(str(error)) from None

    def raw(self, value: JSONValue, spot: Spot) -> JSONValue:
        return simplify(clone(value))


def _read_again(before: JSONValue, after: JSONValue, sent: JSONValue, code: Code) -> JSONValue:
    """Return what Go holds of a field that is sent twice: it reads the second value into the first one.

    - `after`: what it would hold of the second value alone. Null changes no plain value.
    - Maps of `before` are changed in place: a field may be sent thousands of times.
    """
    if before is None or code in _CLEARED_BY_NULL:
        return after
    if sent is None:
        return before if isinstance(code, str) else None
    mark, inner = (code[0], code[1]) if isinstance(code, list) else ("", code)
    if isinstance(before, list) and isinstance(after, list) and isinstance(sent, list) and mark == "[":
        pairs = zip(before, after, sent, strict=False)
        return [*(_read_again(*pair, inner) for pair in pairs), *after[len(before) :]]
    if not isinstance(before, dict) or not isinstance(after, dict) or not isinstance(sent, Mapping):
        return after
    if mark == "{":
        before.update(after)
        return before
    struct = go_types().find_struct(inner) if isinstance(inner, str) else None
    return after if struct is None else _read_struct_again(before, after, sent, struct)


def _read_struct_again(before: MutableObject, after: JSONObject, sent: JSONObject, struct: GoStruct) -> MutableObject:
    for name in sent.keys() & struct.fields.keys():
        before[name] = _read_again(before.get(name), after.get(name), sent[name], struct.fields[name].code)
        if before[name] is None and name not in after:
            del before[name]
    return before


def fits_integer(value: int, code: str) -> bool:
    """Return whether a Go integer of this type holds the number."""
    is_signed, bits = code.startswith("int"), int(code.lstrip("uint") or 64)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if is_signed else (0, 1 << bits)
    return low <= value < high


# Lists whose defaults are filled in only if they are absent: an empty one stays, and is refused.
_KEPT_EMPTY = ("[]v2.HPAScalingPolicy",)


def _is_dropped(written: JSONValue, spec: GoField) -> bool:
    code = spec.code
    if spec.go_type in _KEPT_EMPTY and written == []:
        return False
    if not isinstance(code, str):
        if code[0] == "*":
            return written is None and spec.drops_empty
        return not written and spec.drops_empty
    if spec.drops_zero and (written in _EMPTY or written == {}):
        return True
    return spec.drops_empty and not is_struct(code) and written in _EMPTY


# Types of their own for which Go reads null as nothing.
_CLEARED_BY_NULL = ("Q", "T", "M")
_READERS: Mapping[str, str] = {
    "s": "string",
    "b": "boolean",
    "f": "number",
    "y": "bytes",
    "Q": "quantity",
    "I": "int_or_string",
    "T": "time",
    "M": "micro_time",
    "D": "raw",
    "R": "raw",
    "B": "schema_or_bool",
    "A": "schema_or_list",
    "S": "schema_or_names",
}
