"""Write and read JSON that only we read again, an order of magnitude faster than the standard library.

Integers of any size, the order of names and the text of every string are kept; floats are equal, though written
differently. Not for digests, whose bytes are those of `values.canonical_json`. What the fast codec refuses (half a
surrogate pair, a name that is no text), the standard library decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from contextlib import suppress
from itertools import accumulate
from typing import NoReturn

import msgspec

from applyviz.engine.objects.golang import read_integer
from applyviz.engine.objects.values import JSONValue, canonical_json

_OTHER_BYTES = bytes(set(range(256)) - set(b"{}[]"))
_STEPS = [(byte in b"{[") - (byte in b"}]") for byte in range(256)]
_LONG_INTEGER = re.compile(rb"[0-9]{19}")
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_list_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def write_json(value: object) -> bytes:
    """Return a JSON value as compact UTF-8.

    - Raises `UnicodeEncodeError` for half a surrogate pair, `TypeError` for values that JSON does not have.
    """
    return _encode(value)


def write_sorted(value: JSONValue) -> bytes:
    """Return a JSON value as compact UTF-8 with sorted names: the same bytes for equal documents, whatever wrote them.

    - For hashes of what this installation stores, which are compared by this function alone; never for plan digests.
    """
    try:
        return _encode_sorted(value)
    except (UnicodeError, TypeError):
        return b"canonical " + canonical_json(value).encode("utf-8", "surrogatepass")


def read_json(text: bytes | str) -> JSONValue:
    """Return the value of a JSON text; raises `ValueError` when it is none."""
    try:
        value: JSONValue = _decode(text)
        return value
    except (msgspec.DecodeError, UnicodeError):
        read: JSONValue = json.loads(text, parse_constant=_refuse)
        return read


def read_members(text: bytes, names: Container[str]) -> dict[str, JSONValue]:
    """Return some members of a JSON object; the others are skipped, not built.

    - Raises `ValueError` when the text is no JSON object.
    """
    try:
        return {name: _decode(value) for name, value in _list_members(text).items() if name in names}
    except (msgspec.MsgspecError, UnicodeError):
        return {name: value for name, value in dict(json.loads(text)).items() if name in names}


def read_answer(text: bytes) -> JSONValue:
    """Return the value of a server's answer: integers beyond 64 bits are floats, as untyped Go reads them.

    - Raises `ValueError` when the text is no JSON, or is nested too deeply to be read; numbers that JSON does not have
      are none.
    """
    try:
        # The fast codec reads any integer; few answers contain digits enough.
        if _LONG_INTEGER.search(text) is None:
            with suppress(msgspec.DecodeError, UnicodeError):
                fast: JSONValue = _decode(text)
                return fast
        read: JSONValue = json.loads(text, parse_int=read_integer, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return read


def is_nested_deeper(text: bytes, most: int) -> bool:
    """Return whether maps and lists of a JSON text are nested more than so many levels; linear in the text."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(text.split(b'"')[::2]).translate(None, _OTHER_BYTES)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > most


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


class DocumentEncoder(json.JSONEncoder):
    """Writes the JSON columns that hold documents."""

    def encode(self, o: object) -> str:
        """Return the text of a value."""
        try:
            return _encode(o).decode()
        except (UnicodeError, TypeError):
            return super().encode(o)


class DocumentDecoder(json.JSONDecoder):
    """Reads the JSON columns that hold documents."""

    def decode(self, s: str, *_: object) -> JSONValue:
        """Return the value of a text."""
        return read_json(s)
