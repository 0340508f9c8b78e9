"""Decode text that looks encoded, in any nesting: base64 of both alphabets, hex, URL encoding, JSON texts, gzip, zlib.

Tools keep compressed copies of whole objects in annotations. The cost is linear in the text: decoded layers together
are at most a fixed multiple of it, and nothing is decoded deeper than a fixed number of layers.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import zlib
from dataclasses import dataclass
from urllib.parse import unquote

_SHORTEST = 16
_DEEPEST = 6
_MOST_GROWTH = 24
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_SPACE = re.compile(r"\s+")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
# gzip, and zlib of every usual level.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_ANY_HEADER = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The texts in a text, outermost first; `is_whole` False: there is more than the limits allow to decode."""

    texts: tuple[str, ...] = ()
    is_whole: bool = True


class _OverError(Exception):
    """The limits are reached."""


def looks_encoded(text: str) -> bool:
    """Return whether a text may be encoded; most texts are not, and this says so at once."""
    if len(text) < _SHORTEST:
        return False
    if text.startswith('"') or _PERCENT.search(text):
        return True
    return _BASE64.fullmatch(_SPACE.sub("", text)) is not None


def decode_all(text: str) -> DecodedText:
    """Return every text that a text holds encoded."""
    found: dict[str, None] = {}
    left = _MOST_GROWTH * len(text)
    layer = [text]
    try:
        for _ in range(_DEEPEST):
            inner: list[str] = []
            for outer in layer:
                for one in _decode(outer, left):
                    left -= len(one)
                    if left < 0:
                        raise _OverError
                    inner += [] if one in found else [one]
                    found[one] = None
            layer = inner
        is_whole = not any(map(looks_encoded, layer))
    except _OverError:
        is_whole = False
    return DecodedText(tuple(found), is_whole)


def _decode(text: str, most: int) -> list[str]:
    """Return the readings of one layer as text; raises `_OverError` for more than `most` bytes."""
    if not looks_encoded(text):
        return []
    readings = [_read(raw, most) for raw in _list_bytes(text)]
    plain = unquote(text) if _PERCENT.search(text) else text
    return [reading for reading in (*readings, plain, _read_quoted(text)) if reading and reading != text]


def _read_quoted(text: str) -> str:
    try:
        value = json.loads(text) if text.startswith('"') else ""
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _list_bytes(text: str) -> list[bytes]:
    compact = _SPACE.sub("", text)
    found = [bytes.fromhex(compact)] if _HEX.fullmatch(compact) else []
    if _BASE64.fullmatch(compact):
        standard = compact.rstrip("=").replace("-", "+").replace("_", "/")
        with contextlib.suppress(binascii.Error):
            found.append(base64.b64decode(standard + "=" * (-len(standard) % 4)))
    return found


def _decompress(raw: bytes, most: int) -> bytes:
    """Return the content of all members of a compressed stream."""
    found = b""
    while raw.startswith(_COMPRESSED):
        machine = zlib.decompressobj(_ANY_HEADER)
        found += machine.decompress(raw, max(most - len(found), 1))
        if machine.unconsumed_tail:
            raise _OverError
        raw = machine.unused_data
    return found


def _read(raw: bytes, most: int) -> str:
    """Return bytes as text, "" for bytes that are none."""
    try:
        for _ in range(_DEEPEST):
            if not raw.startswith(_COMPRESSED):
                break
            raw = _decompress(raw, most)
    except zlib.error:
        return ""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
