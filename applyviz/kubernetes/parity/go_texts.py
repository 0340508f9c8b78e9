"""Parse texts that Go converts to other values (base64, times, quantities), with Go's error messages.

Rule: `encoding/base64`, `time.Parse` for RFC 3339 (with microseconds for MicroTime), and `ParseQuantity` of
k8s.io/apimachinery `pkg/api/resource`.
"""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from applyviz.engine.objects.quantities import PATTERN, canonical_quantity

_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BREAKS: Final = frozenset(b"\r\n")
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
BAD_QUANTITY: Final = f"quantities must match the regular expression '{PATTERN}'"
_QUANTITY: Final = re.compile(r"[+-]?(?P<digits>[0-9]*(?:\.[0-9]*)?)(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_SUFFIXES: Final = frozenset(("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+\Z")


class GoTextError(Exception):
    """The text is malformed; the message is Go's."""


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 text; line breaks are ignored."""
    source = text.encode("utf-8", "replace")
    fault = _find_bad_byte(source)
    if fault is not None:
        raise GoTextError(f"illegal base64 data at input byte {fault}")
    return base64.b64decode(bytes(b for b in source if b not in _BREAKS))


def _skip_breaks(source: bytes, at: int) -> int:
    while at < len(source) and source[at] in _BREAKS:
        at += 1
    return at


def _find_bad_byte(source: bytes) -> int | None:
    """Return the offset of Go's error: the bad byte, or the start of the last group if that is too short."""
    at = count = 0
    while at < len(source):
        byte = source[at]
        at += 1
        if byte in _ALPHABET:
            count = (count + 1) % 4
        elif byte == ord("="):
            return _find_bad_padding(source, at, count)
        elif byte not in _BREAKS:
            return at - 1
    return at - count if count else None


def _find_bad_padding(source: bytes, at: int, count: int) -> int | None:
    if count < 2:
        return at - 1
    if count == 2:
        at = _skip_breaks(source, at)
        if at == len(source):
            return at
        if source[at] != ord("="):
            return at - 1
        at += 1
    at = _skip_breaks(source, at)
    return at if at < len(source) else None


class _TimeReader:
    """Reads a time in the order of the layout."""

    def __init__(self, text: str, layout: str) -> None:
        self.text, self.rest, self.layout = text, text, layout

    def refuse(self, element: str, rest: str, message: str = "") -> NoReturn:
        text = _quote_time(self.text)
        if message:
            raise GoTextError(f"parsing time {text}: {message}")
        layout = _quote_time(self.layout)
        raise GoTextError(
            f"parsing time {text} as {layout}: cannot parse {_quote_time(rest)} as {_quote_time(element)}"
        )

    def skip(self, prefix: str) -> None:
        if not self.rest.startswith(prefix):
            self.refuse(prefix, self.rest)
        self.rest = self.rest[len(prefix) :]

    def number(self, element: str, low: int, high: int, word: str, *, is_fixed: bool = True) -> int:
        hold = self.rest
        digits = re.match(r"[0-9]{2}" if is_fixed else r"[0-9]{1,2}", hold)
        value = int(digits[0]) if digits else 0
        if digits:
            self.rest = hold[len(digits[0]) :]
        # A range is checked first, and a missing number counts as 0.
        if not low <= value <= high and (digits or word == "hour"):
            self.refuse("", "", f"{word} out of range")
        if not digits:
            self.refuse(element, hold)
        return value

    def year(self) -> int:
        hold = self.rest
        if not re.match(r"[0-9]{4}", hold):
            self.refuse("2006", hold)
        self.rest = hold[4:]
        return int(hold[:4])

    def second(self, has_micros: bool) -> int:
        value = self.number("05", 0, 59, "second")
        found = re.match(r"[.,][0-9]+", self.rest)
        if found and not has_micros:
            self.rest = self.rest[len(found[0]) :]
        return value

    def micros(self) -> int:
        hold = self.rest
        found = re.match(r"[.,]([0-9]{6})", hold)
        if not found:
            self.refuse(".000000", hold)
        self.rest = hold[7:]
        return int(found[1])

    def zone(self) -> timedelta:
        hold = self.rest
        if hold.startswith("Z"):
            self.rest = hold[1:]
            return timedelta()
        found = re.match(r"(.)(..):(..)", hold, re.DOTALL)
        if found is None:
            self.refuse("Z07:00", hold)
        self.rest = hold[6:]
        hours, minutes = (int(g) if re.fullmatch("[0-9]{2}", g) else None for g in found.group(2, 3))
        for value, limit, word in ((hours, 24, "hour"), (minutes, 60, "minute")):
            if value is None:
                self.refuse("Z07:00", hold)
            if value > limit:
                self.refuse("", "", f"time zone offset {word} out of range")
        if found[1] not in "+-":
            self.refuse("Z07:00", hold)
        offset = timedelta(hours=hours or 0, minutes=minutes or 0)
        return -offset if found[1] == "-" else offset


def _quote_time(text: str) -> str:
    shown = "".join(
        f"\\{c}" if c in '"\\' else c if " " <= c < "\x80" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text
    )
    return f'"{shown}"'


def parse_time(text: str, *, has_micros: bool = False) -> datetime:
    """Return the moment that a text names, in UTC."""
    reader = _TimeReader(text, _MICRO_LAYOUT if has_micros else _LAYOUT)
    year = reader.year()
    reader.skip("-")
    month = reader.number("01", 1, 12, "month")
    reader.skip("-")
    day = reader.number("02", 0, 99, "day")
    reader.skip("T")
    hour = reader.number("15", 0, 23, "hour", is_fixed=False)
    reader.skip(":")
    minute = reader.number("04", 0, 59, "minute")
    reader.skip(":")
    second = reader.second(has_micros)
    micros = reader.micros() if has_micros else 0
    offset = reader.zone()
    if reader.rest:
        reader.refuse("", "", f"extra text: {_quote_time(reader.rest)}")
    try:
        moment = datetime(max(year, 1), month, day, hour, minute, second, micros, tzinfo=UTC)
        return moment - offset
    except (ValueError, OverflowError):
        reader.refuse("", "", "day out of range")


def read_quantity(text: str) -> str:
    """Return the canonical form of a quantity as JSON writes it: `text` is a number or the content of a string."""
    text = text.strip()
    canonical = canonical_quantity(text)
    if canonical is not None:
        return canonical
    if text and re.fullmatch(r"[+-]?0*", text):
        return "0"
    found = _QUANTITY.match(text)
    if not text or found is None:
        raise GoTextError(BAD_QUANTITY)
    suffix = found["suffix"]
    if suffix not in _SUFFIXES and not _EXPONENT.match(suffix):
        raise GoTextError("unable to parse quantity's suffix")
    return "0"
