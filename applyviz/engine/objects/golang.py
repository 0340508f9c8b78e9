"""Numbers, strings and JSON as Go writes them, because the API server's texts come from Go.

Rule: `strconv.FormatFloat`, `strconv.Quote`, `encoding/json`. Needed where a text itself is compared or
stored: path elements, conflict messages, the last-applied annotation. Everything else uses Python's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import JSONEncoder, encode_basestring

from applyviz.engine.objects.values import JSONValue

_HTML = re.compile("[<>&\u2028\u2029]")
_SPECIAL = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]')
# Characters that may belong to a float in JSON, after a field name or in a list; in a string they mean nothing. There
# are two searches, because each begins with a fixed text that is fast to find.
_FRACTION = r"-?(?:[0-9]+[.eE]|NaN|Infinity)"
_holds_fraction_in_field = re.compile(f'":{_FRACTION}').search
_holds_fraction_in_list = re.compile(rf"[\[,]{_FRACTION}").search
_encode = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_PAIR = re.compile(r"\\.")
_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _exponent(value: float) -> str:
    """Return the shortest digits in the form d.ddde±xx, with at least two exponent digits."""
    digits = repr(abs(value)).partition("e")[0].replace(".", "")
    text = digits.strip("0")
    power = Decimal(repr(value)).adjusted()
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def render_float(value: float, *, low: float, high: float = 1e21) -> str:
    """Return a float with the fewest digits that identify it; exponents are used below `low` and from `high` on."""
    if value == 0:
        return "-0" if str(value)[0] == "-" else "0"
    if abs(value) < low or abs(value) >= high:
        return _exponent(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def render_number(value: JSONValue) -> str:
    """Return a number as `%v` prints it."""
    return render_float(value, low=1e-4, high=1e6) if isinstance(value, float) else str(value)


def quote(text: str) -> str:
    """Return a string as `%q` prints it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_quote_character(c) for c in text) + '"'


def _quote_character(char: str) -> str:
    if char in ('"', "\\"):
        return "\\" + char
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def json_string(text: str) -> str:
    """Return a JSON string with <, >, & and the line separators escaped, as Go writes it for the web."""
    return _HTML.sub(_escape, encode_basestring(text))


def is_plain(text: str) -> bool:
    """Return whether JSON writes a text without escapes."""
    return _SPECIAL.search(text) is None


def element_string(text: str) -> str:
    """Return a JSON string as fieldsV1 spells it: backspace and form feed have no short form there."""
    if is_plain(text):
        return f'"{text}"'
    written = json_string(text)
    return _PAIR.sub(_lengthen, written) if "\\" in written else written


def _lengthen(match: re.Match[str]) -> str:
    return {"\\b": "\\u0008", "\\f": "\\u000c"}.get(match[0], match[0])


_INT64_DIGITS = 18
_UINT64 = 1 << 64


def read_integer(text: str) -> int | float:
    """Return an integer of a JSON text as untyped Go reads it: beyond 64 bits it is a float."""
    if len(text) <= _INT64_DIGITS:
        return int(text)
    return float(text) if len(text) > _INT64_DIGITS + 2 or not -(1 << 63) <= int(text) < 1 << 63 else int(text)


def is_digits(text: str) -> bool:
    """Return whether a text is ASCII digits, at least one; Python's own checks accept digits of all scripts."""
    return text.isascii() and text.isdecimal()


def read_digits(text: str) -> int | None:
    """Return the number that a text of ASCII digits writes; None for any other text, and beyond 64 bits.

    - Rule: `strconv.ParseUint`. Python's own reading raises beyond 4,300 digits.
    """
    if not is_digits(text):
        return None
    digits = text.lstrip("0") or "0"
    number = int(digits) if len(digits) <= _INT64_DIGITS + 2 else _UINT64
    return number if number < _UINT64 else None


def read_signed(text: str) -> int | None:
    """Return the number that ASCII digits write, behind one sign or none; None for any other text, and beyond 64 bits.

    - Rule: `strconv.ParseInt`, `strconv.Atoi`.
    """
    number = read_digits(text[1:] if text.startswith(("+", "-")) else text)
    if number is None or number >= _UINT64 // 2 + text.startswith("-"):
        return None
    return -number if text.startswith("-") else number


def json_number(value: JSONValue) -> str:
    """Return a number as Go's JSON writes it: 1.0 is 1, exponents are short."""
    if not isinstance(value, float):
        return str(value)
    text = render_float(value, low=1e-6)
    head, mark, power = text.partition("e-0")
    return f"{head}e-{power}" if mark else text


def render_json(value: JSONValue) -> str:
    """Return compact JSON with sorted keys, as Go's `json.Marshal` writes it."""
    if type(value) is not dict:
        return _render_json(value)
    try:
        text = _encode(value)
    except (TypeError, ValueError):
        return _render_json(value)
    # Python's own encoder differs only in fractions and exponents, and it is many times as fast.
    if _holds_fraction_in_field(text) or _holds_fraction_in_list(text):
        return _render_json(value)
    return _HTML.sub(_escape, text)


def _render_json(value: JSONValue) -> str:
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json_string(k)}:{_render_json(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_render_json, value)) + "]"
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    return json_number(value)
