"""Decode text that looks encoded, in any nesting: base64 of both alphabets, hex, URL encoding, JSON texts, gzip, zlib.

Tools keep compressed copies of whole objects in annotations, alone or in a field of JSON or YAML, in an address, in a
sentence or in pieces. The cost is linear in the text: decoded layers together are at most a fixed multiple of it, and
nothing is decoded deeper than a fixed number of layers.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_SHORTEST = 16
_DEEPEST = 6
_MOST_GROWTH = 24
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
# What stands between the pieces of a text that was cut: `4a:6f`, `"aGVs","bG8="`.
_BETWEEN = re.compile(r"[\s,;:|\"']+")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\"'\\/nrt]))")
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}
_CODE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})")
# One encoded part of a longer text, over several lines where all of a line belongs to it.
_PART = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+(?:[ \t]*\n[ \t]*[A-Za-z0-9+/_-]++(?=={0,2}[ \t]*(?:\n|\Z)))*+={0,2}"
)
# gzip, and zlib of every usual level.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
# bzip2, xz, zstd, lz4: recognized, but not read.
_UNREAD = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ANY_HEADER = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The texts in a text, outermost first; `is_whole` False: there is more than the limits allow to decode."""

    texts: tuple[str, ...] = ()
    is_whole: bool = True


class _OverError(Exception):
    """The limits are reached."""


def looks_encoded(text: str) -> bool:
    """Return whether a text, or a part of it, may be encoded; most texts are not, and this says so at once."""
    return next(find_parts(text), None) is not None


def find_parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each part of a text starts and ends that may be encoded: all of it, if that may be."""
    if len(text) < _SHORTEST:
        return
    if _PERCENT.search(text) or _is_escaped(text) or _BASE64.fullmatch(_BETWEEN.sub("", text)):
        yield 0, len(text)
        return
    for match in _PART.finditer(text):
        yield match.span()


def _is_escaped(text: str) -> bool:
    """Return whether a text has escaped characters, or escaped quotes around what may be a Secret."""
    return "\\" in text and (_CODE.search(text) is not None or "ecret" in text)


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
    readings = [_unescape(text), unquote(text) if _PERCENT.search(text) else text]
    parts = [text, *(match[0] for match in _PART.finditer(text))] if len(text) >= _SHORTEST else []
    # The path of an address is written in letters of base64 too.
    parts += [piece for part in parts[1:] if "/" in part for piece in part.split("/") if len(piece) >= _SHORTEST]
    readings += [_read(raw, most) for part in dict.fromkeys(parts) for raw in _list_bytes(part)]
    return [reading for reading in readings if reading and reading != text]


def _unescape(text: str) -> str:
    """Return a text without the escapes that JSON and shells put before quotes and for characters."""
    return _ESCAPE.sub(_read_escape, text).strip('"')


def _read_escape(found: re.Match[str]) -> str:
    if found[3]:
        return _BLANKS.get(found[3], found[3])
    return chr(int(found[1] or found[2], 16))


def _list_bytes(text: str) -> list[bytes]:
    compact = _BETWEEN.sub("", text)
    found = [bytes.fromhex(match[1])] if (match := _HEX.fullmatch(compact)) else []
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
    """Return bytes as text, "" for bytes that are none; raises `_OverError` for what is compressed otherwise."""
    if raw.startswith(_UNREAD):
        raise _OverError
    try:
        for _ in range(_DEEPEST):
            if not raw.startswith(_COMPRESSED):
                break
            raw = _decompress(raw, most)
    except zlib.error:
        return ""
    try:
        return raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8").replace("\x00", "")
    except UnicodeDecodeError:
        return ""
