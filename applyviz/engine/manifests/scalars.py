"""The value of a plain scalar: YAML 1.1 as Go's yaml library resolves it, then as JSON represents it.

Rule: `resolve` of go.yaml.in/yaml/v2 followed by the JSON round trip of sigs.k8s.io/yaml: `y`, `on` and
their likes are booleans, `0644` and `0o644` are 420, `0888` is 888, `22:22` and dates stay text, numbers beyond
float64 stay text, whole floats become integers, integers beyond 64 bits become floats. NaN and infinities have no JSON.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from decimal import Decimal
from typing import Any, NamedTuple

from applyviz.engine.manifests.documents import Retyping
from applyviz.engine.objects.golang import is_digits

_PREFIX = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_PLAIN_BOOLEANS = frozenset(("true", "false", "True", "False", "TRUE", "FALSE"))
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_DOT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?\Z", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?\Z", re.ASCII)
_ESCAPED = re.compile("[\udc80-\udcff]")
_NUMBER_STARTS = frozenset("+-.0123456789")
# First characters of every plain scalar that is not simply text; all others skip the resolution.
HINTS = frozenset("+-0123456789yYnNtTfFoO~.")
_MAX_INT64, _MAX_UINT64 = 2**63 - 1, 2**64 - 1
_SAFE_INTEGER = 2**53


class Scalar(NamedTuple):
    """A resolved scalar; `tag` is Go's short tag: str, bool, int, float, null, timestamp.

    `value` is its JSON value, `number` the float before the JSON round trip (map keys need it).
    """

    tag: str
    value: Any
    retyping: Retyping | None = None
    number: float = 0.0


def _parse_integer(plain: str) -> int | None:
    match = _INTEGER.match(plain)
    if match is None:
        return None
    sign, digits = match.groups()
    if len(digits) > 80:  # far beyond 64 bits in any base: avoid converting a huge number
        return None
    if digits[:2] in ("0x", "0X"):
        number = int(digits[2:], 16)
    elif digits[:2] in ("0b", "0B"):
        number = int(digits[2:], 2)
    elif len(digits) > 1 and digits[0] == "0":
        number = int(digits.lstrip("0oO") or "0", 8)
    else:
        number = int(digits)
    if sign == "-":
        return -number if number <= _MAX_INT64 + 1 else None
    if number <= _MAX_INT64 or (not sign and number <= _MAX_UINT64):
        return number
    return None


def _parse_float(plain: str) -> float | None:
    number = float(plain)
    return None if math.isinf(number) else number


def _resolve_number(text: str) -> int | float | None:
    if text[0] == ".":
        return _parse_float(text.replace("_", "")) if _DOT_FLOAT.match(text) else None
    plain = text.replace("_", "")
    number = _parse_integer(plain)
    if number is not None:
        return number
    return _parse_float(plain) if _FLOAT.match(plain) else None


def to_json_number(number: int | float) -> int | float:
    """Return a number after a JSON round trip: whole floats become integers, long integers become floats."""
    if isinstance(number, int):
        return number if -(2**63) <= number <= _MAX_INT64 else float(number)
    if abs(number) >= 1e21 or not number.is_integer():
        return number
    # Go writes the shortest digits that identify the float, padded with zeros, and reads that back.
    whole = int(Decimal(repr(number)))
    return whole if -(2**63) <= whole <= _MAX_INT64 else number


def _retyping_of(text: str, value: int | float) -> Retyping | None:
    if str(value) == text:
        return Retyping.BIG_INTEGER if isinstance(value, int) and abs(value) > _SAFE_INTEGER else None
    lower = text.lower().lstrip("+-")
    if lower[:2] in ("0x", "0b"):
        return Retyping.OTHER_BASE
    if "_" in text:
        return Retyping.SEPARATED
    if "e" in lower:
        return Retyping.EXPONENT
    if "." in text:
        return Retyping.FLOAT
    if is_digits(lower) and abs(value) > _SAFE_INTEGER:
        return Retyping.BIG_INTEGER
    if lower[0] != "0" or len(lower) == 1:
        return Retyping.FLOAT
    # Digits 8 and 9 are not octal digits: Go's integer parser refuses 0888, and YAML's pattern of floats reads 888.
    return Retyping.LEADING_ZERO if "8" in lower or "9" in lower else Retyping.OCTAL


def resolve_plain(text: str) -> Scalar:
    """Resolve a plain (unquoted, untagged) scalar."""
    if text not in _WORDS:
        if text[0] not in _NUMBER_STARTS:
            return Scalar("str", text)
        if _DATE.match(text):
            return Scalar("timestamp", text, Retyping.DATE)
        number = _resolve_number(text)
        if number is None:
            return Scalar("str", text)
        value = to_json_number(number)
        tag = "int" if isinstance(number, int) else "float"
        return Scalar(tag, value, _retyping_of(text, value), float(number))
    word = _WORDS[text]
    if word is None:
        return Scalar("null", None)
    if isinstance(word, bool):
        return Scalar("bool", word, None if text in _PLAIN_BOOLEANS else Retyping.BOOLEAN)
    return Scalar("float", word, None, word)


def decode_utf8(raw: bytes) -> str:
    """Decode text as Go does: every byte that is not valid UTF-8 becomes one U+FFFD."""
    # Python's own replacement merges several bytes into one character.
    return _ESCAPED.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Resolve a scalar with a tag; raises `ValueError` in the words of Go's library, without the text itself."""
    short = tag[len(_PREFIX) :] if tag.startswith(_PREFIX) else ""
    if short == "binary":
        try:
            raw = base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("!!binary value contains invalid base64 data") from None
        return Scalar("str", decode_utf8(raw))
    if short == "str" or short not in ("bool", "int", "float", "null", "timestamp"):
        return Scalar("str", text)
    found = resolve_plain(text)
    if found.tag == "timestamp" and short != "timestamp":
        found = Scalar("str", text)
    if found.tag == short:
        return found
    if short == "float" and found.tag == "int":
        return Scalar("float", to_json_number(found.number), found.retyping, found.number)
    raise ValueError(f"cannot decode !!{found.tag} as a !!{short}")


def _write_float32(number: float) -> str:
    # sigs.k8s.io/yaml writes float keys with FormatFloat(f, 'g', -1, 32): the shortest digits that
    # still name the same 32-bit float, with an exponent from 1e+06 on and below 1e-04.
    if math.isnan(number):
        return ".nan"
    single = struct.pack("f", number)  # the native form: too large a number becomes infinite
    rounded: float = struct.unpack("f", single)[0]
    if math.isinf(rounded):
        return ".inf" if rounded > 0 else "-.inf"
    digits = next(n for n in range(10) if struct.pack("f", float(f"{rounded:.{n}e}")) == single)
    text = f"{rounded:.{digits}e}"
    exponent = int(text.partition("e")[2])
    return text if exponent < -4 or exponent >= 6 else f"{rounded:.{max(digits - exponent, 0)}f}"


def write_key(scalar: Scalar) -> str:
    """Return the JSON object key of a resolved scalar; raises `ValueError` if it cannot be a key."""
    value = scalar.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if scalar.tag == "float":
        return _write_float32(scalar.number)
    if scalar.tag == "int" and isinstance(value, int):
        return str(value)
    raise ValueError(f"unsupported map key of type: {'uint64' if scalar.tag == 'int' else '<nil>'}")
