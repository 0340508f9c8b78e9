"""The values of CEL besides those of JSON, with their types, equality, order and text.

A Python int is a CEL int, a float is a double; bool, str, bytes, list, dict and None map directly. Numbers of different
types compare with one another (Kubernetes enables cross-type comparisons).
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import SplitResult

import msgspec

from applyviz.engine.objects.golang import read_digits, render_number

INT64: Final = 1 << 63
NANO: Final = 1_000_000_000


class CelError(Exception):
    """The error of an expression without a value; the text is that of cel-go."""


class NoOverloadError(CelError):
    """A function or an operator does not accept these values."""

    def __init__(self, *_: object) -> None:
        super().__init__("no such overload")


class UInt(int):
    """An unsigned integer."""

    __slots__ = ()


class Struct(dict[str, Any]):
    """An object of a schema, with the fields that are set, under their escaped names."""

    __slots__ = ()


class Entries(list[Any]):
    """A list that is compared without regard to order: a set, or one whose entries have keys."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...] = ()) -> None:
        super().__init__(items)
        self.keys = keys


class Duration(msgspec.Struct, frozen=True, order=True):
    """A span of time."""

    nanos: int


class Timestamp(msgspec.Struct, frozen=True, order=True):
    """A moment, in nanoseconds since 1970."""

    nanos: int

    @property
    def utc(self) -> datetime:
        """The moment, truncated to microseconds."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.nanos // 1000)


class Optional(msgspec.Struct, frozen=True):
    """A value that may be missing."""

    value: object = None
    has_value: bool = False


class Quantity(msgspec.Struct, frozen=True):
    """A quantity of Kubernetes."""

    amount: Decimal


class Url(msgspec.Struct, frozen=True):
    """A URL: its parts and its text."""

    parts: SplitResult
    text: str


class Semver(msgspec.Struct, frozen=True):
    """A semantic version."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()


class Type(msgspec.Struct, frozen=True):
    """A type, as `type(x)` returns it."""

    name: str


class Format(msgspec.Struct, frozen=True):
    """A named format of Kubernetes."""

    name: str


_NUMBERS = (int, float)
_KINDS: Final[Mapping[type, str]] = {
    bool: "bool", int: "int", UInt: "uint", float: "double", str: "string", bytes: "bytes", list: "list", dict: "map",
    type(None): "null_type", Struct: "map", Entries: "list", Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp", Optional: "optional_type", Quantity: "kubernetes.Quantity",
    Url: "kubernetes.URL", Semver: "kubernetes.Semver", Type: "type", Format: "kubernetes.NamedFormat",
    ipaddress.IPv4Address: "net.IP", ipaddress.IPv6Address: "net.IP",
    ipaddress.IPv4Interface: "net.CIDR", ipaddress.IPv6Interface: "net.CIDR",
}  # fmt: skip


def kind_of(value: object) -> str:
    """Return the name of the type of a value."""
    return _KINDS[type(value)]


def is_number(value: object) -> bool:
    """Return whether it is an int, a uint or a double."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def check_int(value: int) -> int:
    """Return an int that fits; raises `CelError` on overflow."""
    if not -INT64 <= value < INT64:
        raise CelError("integer overflow")
    return value


def check_uint(value: int) -> UInt:
    """Return a uint that fits; raises `CelError` on overflow."""
    if not 0 <= value < 2 * INT64:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def is_equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal; values of different types are not, except numbers."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, Entries) and isinstance(right, list):
        return len(left) == len(right) and all(any(is_equal(a, b) for b in right) for a in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(k in right and is_equal(v, right[k]) for k, v in left.items())
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.has_value == right.has_value and (not left.has_value or is_equal(left.value, right.value))
    return type(left) is type(right) and bool(left == right)


def compare(left: Any, right: Any) -> int:
    """Return minus one, zero or one; raises `NoOverloadError` for values without an order."""
    is_ordered = isinstance(left, (bool, str, bytes, Duration, Timestamp)) and type(left) is type(right)
    if not is_ordered and not (is_number(left) and is_number(right)):
        raise NoOverloadError
    if isinstance(left, str):
        left, right = left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass")
    if (isinstance(left, float) and math.isnan(left)) or (isinstance(right, float) and math.isnan(right)):
        raise CelError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


_MOST_DECIMALS = 18  # more do not fit into 64 bits: Go leaves them out
_SECOND_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": NANO}
_UNITS: Final = _SECOND_UNITS | {"m": 60 * NANO, "h": 3600 * NANO}
_DURATION: Final = re.compile(r"([-+]?)((?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+|0)\Z")
_PART: Final = re.compile(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9})[0-9]*)?"
    r"(?:[Zz]|([-+])([0-9]{2}):([0-9]{2}))\Z"
)


def read_duration(text: str) -> Duration | None:
    """Return a duration parsed as in Go, None if it is invalid."""
    found = _DURATION.match(text)
    if found is None:
        return None
    nanos = 0
    for whole, fraction, unit in _PART.findall(found[2]):
        number, decimals = read_digits(whole or "0"), fraction[:_MOST_DECIMALS]
        if number is None:
            return None
        nanos += number * _UNITS[unit] + int(decimals or 0) * _UNITS[unit] // 10 ** len(decimals)
    return Duration(-nanos if found[1] == "-" else nanos) if nanos < INT64 else None


def read_timestamp(text: str) -> Timestamp | None:
    """Return a moment parsed from RFC 3339, None if it is invalid."""
    found = _TIME.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(g) for g in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    if found[8]:
        away = timedelta(hours=int(found[9]), minutes=int(found[10]))
        moment = moment - away if found[8] == "+" else moment + away
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return Timestamp((since.days * 86400 + since.seconds) * NANO + int((found[7] or "").ljust(9, "0")))


def render_duration(value: Duration) -> str:
    """Return a duration as `string()` prints it: seconds."""
    whole, rest = divmod(abs(value.nanos), NANO)
    text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
    return f"{'-' if value.nanos < 0 else ''}{text}s"


def render_timestamp(value: Timestamp) -> str:
    """Return a moment as `string()` prints it."""
    rest = value.nanos % NANO
    digits = f".{rest:09d}".rstrip("0") if rest else ""
    return value.utc.strftime("%Y-%m-%dT%H:%M:%S") + digits + "Z"


def render_double(value: float) -> str:
    """Return a double as Go prints it."""
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return render_number(value)
