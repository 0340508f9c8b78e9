"""Convert a map of plain values to a Go struct, as the server does after a strategic patch and after an apply.

Rule: `DefaultUnstructuredConverter` of k8s.io/apimachinery `pkg/runtime`. It accepts what JSON decoding accepts, but
visits the fields in the order of the struct, stops at the first error, words errors differently, and accepts 2.0 as an
integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.kubernetes.parity.decoding import Decoded, DecodeError, Decoder, Spot, WrongTypeError
from applyviz.kubernetes.parity.go_texts import GoTextError, decode_base64
from applyviz.kubernetes.parity.go_types import Code, GoStruct

_EXPONENT = 1e21
"""From here on Go writes a float with an exponent."""

_BEYOND = 1 << 63
"""A number beyond 64 bits becomes the least integer. A shorter integer keeps the last bits of that, which are 0."""


def convert(obj: JSONObject, struct: GoStruct) -> Decoded:
    """Convert an object to a struct; unknown fields are reported in the order of their text.

    - Raises `DecodeError` with the first error, in the order of the struct's fields.
    """
    converter = _Converter()
    result = converter.struct(obj, struct, Spot())
    return Decoded(result, sorted(f'{word} field "{path}"' for word, path in converter.strict))


def _go_kind(value: JSONValue) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "int64" if isinstance(value, int) else "float64"
    if isinstance(value, str):
        return "string"
    return "slice" if isinstance(value, list) else "map"


class _Converter(Decoder):
    """A conversion that stops at the first error."""

    def struct(self, value: JSONObject, struct: GoStruct, spot: Spot) -> MutableObject:
        ordered = {name: value[name] for name in struct.fields if name in value}
        unknown = {name: value[name] for name in value if name not in struct.fields}
        return super().struct({**ordered, **unknown}, struct, spot)

    def wrong(self, value: JSONValue, spot: Spot, instead: JSONValue, found: str = "") -> NoReturn:
        raise DecodeError(f"cannot restore struct from: {_go_kind(value)}")

    def list(self, value: JSONValue, inner: Code, spot: Spot) -> Any:
        if not isinstance(value, list):
            raise DecodeError(f"cannot restore slice from {_go_kind(value)}")
        return super().list(value, inner, spot)

    def map(self, value: JSONValue, code: Code, spot: Spot) -> Any:
        if not isinstance(value, Mapping):
            raise DecodeError(f"cannot restore map from {_go_kind(value)}")
        return super().map(value, code, spot)

    def string(self, value: JSONValue, spot: Spot) -> Any:
        return value if isinstance(value, str) else self._refuse(value, "string", spot)

    def boolean(self, value: JSONValue, spot: Spot) -> Any:
        return value if isinstance(value, bool) else self._refuse(value, "bool", spot)

    def integer(self, value: JSONValue, code: str, spot: Spot) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._refuse(value, code, spot)
        if isinstance(value, float) and not value.is_integer():
            raise DecodeError(f"cannot convert float64 to {spot.go_type}")
        bits, number = int(code.lstrip("uint") or 64), int(value)
        number = number if -_BEYOND <= number < _BEYOND else -_BEYOND
        return (
            (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)) if code[0] == "i" else number % (1 << bits)
        )

    def number(self, value: JSONValue, spot: Spot) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._refuse(value, "float64", spot)
        return value

    def bytes(self, value: JSONValue, spot: Spot) -> Any:
        if isinstance(value, str):
            try:
                decode_base64(value)
            except GoTextError as error:
                raise DecodeError(f"error decoding from json: {error}") from None
        elif not isinstance(value, list):
            raise DecodeError(f"cannot restore slice from {_go_kind(value)}")
        return super().bytes(value, spot)

    def placed(self, error: WrongTypeError, spot: Spot) -> WrongTypeError:
        return error

    def int_or_string(self, value: Any, spot: Spot) -> Any:
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT
        return super().int_or_string(int(value) if is_whole else value, spot)

    def quantity(self, value: Any, spot: Spot) -> Any:
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT
        return super().quantity(int(value) if is_whole else value, spot)

    @staticmethod
    def _refuse(value: JSONValue, kind: str, spot: Spot) -> NoReturn:
        """Raise the error of a wrong type; Go converts integers to text, so their message differs."""
        if kind == "string" and type(value) is int:
            raise DecodeError(f"cannot convert int64 to {spot.go_type}")
        raise DecodeError(f"unrecognized type: {kind}")
