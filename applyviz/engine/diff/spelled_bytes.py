"""Decode text to bytes (base64, base32, base85, hex, numbers), and remove escapes.

Each decoder takes time linear in the text, and runs only on text of its own characters.
"""

from __future__ import annotations

import base64
import binascii
import html
import quopri
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
# What stands between the pieces of a text that was cut: `4a:6f`, `"aGVs","bG8="`, `aGVs.bG8`.
BETWEEN = re.compile(r"[\s,;:|\"'.*\\]+")
_HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
_HEX_PIECES = re.compile(r"\[?(?:(?:0[xX]|\\x|\\)?[0-9a-fA-F]{2}[\s,;:|\"'._-]*+)++\]?")
_NO_HEX = re.compile(r"0[xX]|[^0-9a-fA-F]")
_NUMBERS = re.compile(r"(?:[0-9]{1,3}[\s,;]++)++[0-9]{1,3}")
_AROUND_NUMBERS = " \t\r\n[]"
_BITS = re.compile(r"(?:[01]{8}\s*+)+")
_BASE32 = re.compile(r"(?:[A-Z2-7]+|[a-z2-7]+)=*")
_BASE32_HEX = re.compile(r"(?:[0-9A-V]+|[0-9a-v]+)=*")
_DENSE = re.compile(r"[!-~]{24,}")
_ODD = frozenset("!#$%&()*+;<=>?@^`{|}~")
_LEAST_ODD = 5
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(r"&#[xX]?[0-9A-Fa-f]{1,6};")
_NO_ENTITY = re.compile(r"&#[xX]?[0-9A-Fa-f]{7,}")
_QUOTED = re.compile(r"(?:=[0-9A-F]{2}){4}")
_CODE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-3][0-7]{2})")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3][0-7]{2})|([\"'\\/nrt]))")
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}


def is_escaped(text: str) -> bool:
    """Return whether a text has escaped characters, or escaped quotes around what may be a Secret."""
    if _PERCENT.search(text) or ("&#" in text and _ENTITY.search(text)) or ("=" in text and _QUOTED.search(text)):
        return True
    return "\\" in text and (_CODE.search(text) is not None or "ecret" in text)


def is_spelled(text: str) -> bool:
    """Return whether a whole text may encode bytes."""
    if BASE64.fullmatch(BETWEEN.sub("", text)) or _is_dense(text):
        return True
    return _HEX_PIECES.fullmatch(text) is not None or _NUMBERS.fullmatch(text.strip(_AROUND_NUMBERS)) is not None


def _is_dense(text: str) -> bool:
    """Return whether a text uses the letters of base85, more of them than addresses do."""
    return _DENSE.fullmatch(text.strip()) is not None and len(_ODD.intersection(text)) >= _LEAST_ODD


def list_unescaped(text: str) -> Iterator[str]:
    """Yield a text without JSON and shell escapes, URL encoding, HTML entities, or quoted-printable."""
    yield _ESCAPE.sub(_read_escape, text).strip('"')
    if _PERCENT.search(text):
        yield unquote(text)
    if "&#" in text:
        yield html.unescape(_NO_ENTITY.sub("", text))  # Python refuses to read numbers of thousands of digits
    if "=" in text and _QUOTED.search(text):
        yield quopri.decodestring(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _read_escape(found: re.Match[str]) -> str:
    if found[4]:
        return _BLANKS.get(found[4], found[4])
    return chr(int(found[3], 8) if found[3] else int(found[1] or found[2], 16))


def list_bytes(text: str) -> Iterator[bytes]:
    """Yield the bytes that a text encodes, by each decoder that accepts its characters, forwards and backwards."""
    compact = BETWEEN.sub("", text)
    if match := _HEX.fullmatch(compact):
        yield bytes.fromhex(match[1])
    elif _HEX_PIECES.fullmatch(text):
        digits = _NO_HEX.sub("", text)
        yield bytes.fromhex(digits[: len(digits) // 2 * 2])
    if _NUMBERS.fullmatch(text.strip(_AROUND_NUMBERS)):
        numbers = [int(number) for number in re.findall("[0-9]+", text)]
        yield bytes(number for number in numbers if number < 256)
    if _BITS.fullmatch(text):
        yield bytes(int(bits, 2) for bits in re.findall("[01]{8}", text))
    if BASE64.fullmatch(compact):
        yield from _read(_from_base64, compact)
        yield from _read(_from_base64, compact[::-1])
    elif compact.startswith("=") and BASE64.fullmatch(compact[::-1]):
        yield from _read(_from_base64, compact[::-1])
    if _BASE32.fullmatch(compact):
        yield from _read(base64.b32decode, _pad(compact.upper()))
    if _BASE32_HEX.fullmatch(compact):
        yield from _read(base64.b32hexdecode, _pad(compact.upper()))
    if _is_dense(text):
        yield from _read(base64.b85decode, text.strip())
        yield from _read(base64.a85decode, text.strip().removeprefix("<~").removesuffix("~>"))


def _pad(text: str) -> str:
    bare = text.rstrip("=")
    return bare + "=" * (-len(bare) % 8)


def _from_base64(text: str) -> bytes:
    standard = text.strip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(standard + "=" * (-len(standard) % 4))


def _read(decode: Callable[[str], bytes], text: str) -> Iterator[bytes]:
    try:
        yield decode(text)
    except (binascii.Error, ValueError):
        return
