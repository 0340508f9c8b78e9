"""Decode text that looks encoded, at any depth: encodings of `spelled_bytes`, JSON strings, gzip, zlib, deflate, xz.

Tools keep compressed copies of whole objects in annotations, alone or in a field of JSON or YAML, in an address, in a
sentence or in pieces. The cost is linear in the text: the decoded layers together, and everything that is decompressed,
are at most a fixed multiple of it, and nothing is decoded deeper than a fixed number of layers. Other compressed or
encrypted text is not decoded; the result then says that it is not whole.
"""

from __future__ import annotations

import codecs
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct

from applyviz.engine.diff.spelled_bytes import is_escaped, is_spelled, list_bytes, list_unescaped

_SHORTEST = 16
_DEEPEST = 6
_MOST_GROWTH = 24
_LEAST_BYTES = 16 * 1024  # archives are padded to 10 KiB
# One encoded part of a longer text, over several lines where all of a line belongs to it.
_PART = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+(?:[ \t]*\n[ \t]*[A-Za-z0-9+/_-]++(?=={0,2}[ \t]*(?:\n|\Z)))*+={0,2}"
)
# A part that is compressed or encrypted, if no reading of it is a text: no digest is as long, no name changes its case
# as often.
_OPAQUE = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_HEX = re.compile(r"[0-9A-Fa-f]*")
_LONGEST_DIGEST = 128
_LONGEST_PIECE = 64
# A piece of an encoded text between words; longer ones are parts of their own.
_PIECE = re.compile(r"[A-Za-z0-9+/_-]{8,}+")
_SMALL, _CAPITAL = re.compile("[a-z]"), re.compile("[A-Z]")
_TURN = re.compile(r"[a-z][A-Z]|[A-Z][a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
# gzip, and zlib of every usual level.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_LZMA = (b"\xfd7zXZ", b"\x5d\x00\x00")
# bzip2, zstd, lz4, zip: recognized, but not read.
_UNREAD = (b"BZh", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04")
# Certificates, keys of ssh and pictures are no text either.
_KNOWN_BINARY = (b"\x30\x82", b"\x30\x81", b"\x00\x00\x00\x07ssh-", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ANY_HEADER = 32 + zlib.MAX_WBITS
_MOST_DICTIONARY = 16 * 1024 * 1024
# So many streams may reach the limit of the text: one that does leaves others to be read behind it.
_MOST_STREAMS = 4
_FIRST_PIECE = 4 * 1024
_MOST_MEMBERS = 256  # each copies what follows it


class DecodedText(Struct, frozen=True):
    """The texts in a text, outermost first; `is_whole` False: there is more than the limits allow to decode."""

    texts: tuple[str, ...] = ()
    is_whole: bool = True


class Pieces(Struct, frozen=True):
    """The words of a text that may be pieces of an encoded text; `surely`: those that are no word of a language."""

    maybe: tuple[str, ...] = ()
    surely: tuple[str, ...] = ()


class _OverError(Exception):
    """The limits are reached, or the bytes are compressed otherwise."""


@dataclass(slots=True)
class _Budget:
    """How many bytes may still be decompressed, by all readings of all parts, also by those without a text.

    - `most`: of one stream.
    """

    left: int
    most: int

    def run(self, machine: zlib._Decompress | lzma.LZMADecompressor, raw: bytes) -> bytes:
        """Return what a machine makes of bytes.

        - The pieces grow, so that what a fault at the end throws away was counted too, but for the last piece.
        """
        pieces, size, left = [], _FIRST_PIECE, min(self.left, self.most)
        while not machine.eof:
            piece = machine.decompress(raw, max(min(size, left), 1))
            left, self.left = left - len(piece), self.left - len(piece)
            if left < 0:
                raise _OverError
            if not piece:  # the stream was cut
                break
            pieces.append(piece)
            raw, size = getattr(machine, "unconsumed_tail", b""), 2 * size  # lzma keeps what it has not read
        return b"".join(pieces)


def looks_encoded(text: str) -> bool:
    """Return whether a text, or a part of it, may be encoded; most texts are not, and this says so at once."""
    return next(find_parts(text), None) is not None


def find_pieces(text: str) -> Pieces:
    """Return the words that turn as often as base64 does between small letters, capital letters and digits."""
    turns = {
        word: len(_TURN.findall(word))
        for word in _PIECE.findall(text)
        if len(word) < _LONGEST_PIECE and _SMALL.search(word) and _CAPITAL.search(word)
    }
    maybe = tuple(word for word, count in turns.items() if 8 * count >= len(word))
    return Pieces(maybe, tuple(word for word in maybe if 4 * turns[word] >= len(word)))


def find_parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each part of a text starts and ends that may be encoded: all of it, if that may be."""
    if len(text) < _SHORTEST:
        return
    if is_escaped(text) or is_spelled(text):
        yield 0, len(text)
        return
    for match in _PART.finditer(text):
        yield match.span()


def decode_all(text: str) -> DecodedText:
    """Return every text that a text holds encoded."""
    found: dict[str, None] = {}
    left = max(_MOST_GROWTH * len(text), _LEAST_BYTES)
    budget = _Budget(_MOST_STREAMS * left, left)
    layer, is_whole = [text], True
    for _ in range(_DEEPEST):
        inner: list[str] = []
        for outer in layer:
            for one in _decode(outer, budget):
                left -= len(one or "")
                if left < 0:
                    return DecodedText(tuple(found), False)
                is_whole = is_whole and one is not None
                if one and one not in found:
                    inner.append(one)
                    found[one] = None
        layer = inner
    return DecodedText(tuple(found), is_whole and not any(map(looks_encoded, layer)))


def _decode(text: str, budget: _Budget) -> Iterator[str | None]:
    """Yield the readings of one layer as text, None for a part that none reads."""
    yield from (one for one in list_unescaped(text) if one != text)
    parts = [text, *(match[0] for match in _PART.finditer(text))] if len(text) >= _SHORTEST else []
    for part in dict.fromkeys(parts):
        yield from _read_part(part, budget)
    # The path of an address is written in letters of base64 too.
    pieces = [piece for part in parts[1:] if "/" in part for piece in part.split("/") if len(piece) >= _SHORTEST]
    for piece in dict.fromkeys(pieces):
        yield from (one for one in _read_part(piece, budget) if one is not None)


def _read_part(part: str, budget: _Budget) -> Iterator[str | None]:
    is_read = not _is_opaque(part)
    for raw in list_bytes(part):
        try:
            one = _read(raw, budget)
        except _OverError:
            yield None
            continue
        is_read = is_read or bool(one) or raw.startswith(_KNOWN_BINARY)
        if one and one != part:
            yield one
            if one.lstrip()[:1] in ("}", "]"):  # an object that was written backwards
                yield one[::-1]
    if not is_read:
        yield None


def _is_opaque(part: str) -> bool:
    if _OPAQUE.fullmatch(part) is None:
        return False
    if _HEX.fullmatch(part):
        return len(part) > _LONGEST_DIGEST
    return 8 * len(_TURN.findall(part)) >= len(part)


def _inflate(raw: bytes, budget: _Budget) -> bytes:
    """Return the content of all members of a compressed stream."""
    members: list[bytes] = []
    while raw.startswith(_COMPRESSED):
        if len(members) == _MOST_MEMBERS:
            raise _OverError
        machine = zlib.decompressobj(_ANY_HEADER)
        members.append(budget.run(machine, raw))
        raw = machine.unused_data
    return b"".join(members)


def _decompress(raw: bytes, budget: _Budget) -> bytes | None:
    """Return the content of compressed bytes, None if they are not; raises `_OverError` for what is not read."""
    if raw.startswith(_UNREAD):
        raise _OverError
    try:
        if raw.startswith(_COMPRESSED):
            return _inflate(raw, budget)
        if raw.startswith(_LZMA):
            return budget.run(lzma.LZMADecompressor(memlimit=_MOST_DICTIONARY), raw)
    except lzma.LZMAError as error:
        raise _OverError from error
    except zlib.error:
        return b""
    return None


def _inflate_bare(raw: bytes, budget: _Budget) -> bytes:
    """Return the content of bytes that are compressed without a header; most bytes are not."""
    machine = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = budget.run(machine, raw)
    except zlib.error:
        return b""
    return found if machine.eof else b""


def _read(raw: bytes, budget: _Budget) -> str:
    """Return bytes as text, "" for bytes that are none; raises `_OverError` for what is compressed otherwise."""
    for _ in range(_DEEPEST):
        content = _decompress(raw, budget)
        if content is None:
            break
        raw = content
    try:
        return _to_text(raw)
    except UnicodeDecodeError:
        pass
    try:
        return _to_text(_inflate_bare(raw, budget))
    except UnicodeDecodeError:
        return ""


def _to_text(raw: bytes) -> str:
    return raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8").replace("\x00", "")
