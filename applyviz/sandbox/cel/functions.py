"""Operators and functions: the values that each accepts, and its result.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions. An overload is written
as letters, one for each argument, the target first: `s` string, `i` int, `u` uint, `d` double, `b` bytes, `B` bool, `l`
list, `m` map, `D` duration, `T` timestamp, `*` anything; those of the Kubernetes libraries are in `library`.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from applyviz.engine.objects.golang import read_digits, read_signed
from applyviz.kubernetes.parity.patterns import Pattern, PatternError, compile_pattern
from applyviz.sandbox.cel.values import (
    INT64,
    NANO,
    CelError,
    Duration,
    Entries,
    Format,
    NoOverloadError,
    Optional,
    Quantity,
    Semver,
    Struct,
    Timestamp,
    Type,
    UInt,
    Url,
    check_int,
    check_uint,
    compare,
    is_equal,
    kind_of,
    read_duration,
    read_timestamp,
    render_double,
    render_duration,
    render_timestamp,
)

Function = Callable[..., Any]
LETTERS: Final[Mapping[type, str]] = {
    str: "s", int: "i", UInt: "u", float: "d", bytes: "b", bool: "B", list: "l", Entries: "l", dict: "m", Struct: "m",
    Duration: "D", Timestamp: "T", Quantity: "q", Url: "U", Semver: "v", Optional: "o", Format: "f", Type: "t",
    ipaddress.IPv4Address: "I", ipaddress.IPv6Address: "I", ipaddress.IPv4Interface: "C",
    ipaddress.IPv6Interface: "C", type(None): "n",
}  # fmt: skip
TYPES: Final[Mapping[str, Type]] = {
    name: Type(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
}
FUNCTIONS: dict[str, dict[str, Function]] = {}
SIZE_LIMIT = 1 << 20
_DOUBLE: Final = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii]nf|NaN)")


def define(name: str, *overloads: str) -> Callable[[Function], Function]:
    """Return a decorator that adds a function under a name, for these overloads."""

    def add(function: Function) -> Function:
        FUNCTIONS.setdefault(name, {}).update(dict.fromkeys(overloads, function))
        return function

    return add


def call(name: str, arguments: list[Any], *, is_member: bool) -> Any:
    """Return the result of a function; raises `NoOverloadError` if it does not accept the arguments."""
    letters = "".join(LETTERS[type(a)] for a in arguments)
    overloads = FUNCTIONS[name]
    found = overloads.get(letters)
    if found is None:
        found = next((f for s, f in overloads.items() if "*" in s and _fits(s, letters)), None)
    if found is None:
        raise NoOverloadError
    return found(*arguments)


def _fits(signature: str, letters: str) -> bool:
    return len(signature) == len(letters) and all(s in ("*", x) for s, x in zip(signature, letters, strict=True))


def select(operand: Any, field: str) -> Any:
    """Return a field of an object or a map."""
    if not isinstance(operand, dict):
        raise NoOverloadError
    if field not in operand:
        raise CelError(f"no such key: {field}")
    return operand[field]


# Operators ---------------------------------------------------------------------------------------
define("==", "**")(is_equal)
define("!=", "**")(lambda a, b: not is_equal(a, b))
for _sign, _test in (
    ("<", lambda c: c < 0),
    ("<=", lambda c: c <= 0),
    (">", lambda c: c > 0),
    (">=", lambda c: c >= 0),
):
    define(_sign, "**")(lambda a, b, test=_test: test(compare(a, b)))
define("!_", "B")(lambda a: not a)
define("-_", "i")(lambda a: check_int(-a))
define("-_", "d")(lambda a: -a)
define("+", "ii")(lambda a, b: check_int(a + b))
define("+", "uu")(lambda a, b: check_uint(a + b))
define("+", "dd")(lambda a, b: a + b)
define("-", "ii")(lambda a, b: check_int(a - b))
define("-", "uu")(lambda a, b: check_uint(int(a) - int(b)))
define("-", "dd")(lambda a, b: a - b)
define("*", "ii")(lambda a, b: check_int(a * b))
define("*", "uu")(lambda a, b: check_uint(a * b))
define("*", "dd")(lambda a, b: a * b)
define("+", "DD")(lambda a, b: Duration(check_int(a.nanos + b.nanos)))
define("-", "DD")(lambda a, b: Duration(check_int(a.nanos - b.nanos)))
define("+", "TD")(lambda a, b: Timestamp(a.nanos + b.nanos))
define("+", "DT")(lambda a, b: Timestamp(a.nanos + b.nanos))
define("-", "TD")(lambda a, b: Timestamp(a.nanos - b.nanos))
define("-", "TT")(lambda a, b: Duration(check_int(a.nanos - b.nanos)))


@define("+", "ss", "bb", "ll")
def _join(left: Any, right: Any) -> Any:
    """Return the concatenation of texts, bytes or lists; sets and lists with keys keep each entry once."""
    if len(left) + len(right) > SIZE_LIMIT:
        raise CelError("operation canceled: actual cost limit exceeded")
    if not isinstance(left, Entries):
        return [*left, *right] if isinstance(left, list) else left + right
    found = list(left)
    for item in right:
        at = next((i for i, operand in enumerate(found) if _is_same_entry(operand, item, left.keys)), None)
        if at is None:
            found.append(item)
        else:
            found[at] = item
    return Entries(found, left.keys)


def _is_same_entry(left: Any, right: Any, keys: tuple[str, ...]) -> bool:
    if not keys or not isinstance(left, dict) or not isinstance(right, dict):
        return is_equal(left, right)
    return all(is_equal(left.get(k), right.get(k)) for k in keys)


@define("/", "ii", "uu")
def _divide(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    whole = abs(left) // abs(right)
    return UInt(whole) if isinstance(left, UInt) else check_int(whole if (left < 0) == (right < 0) else -whole)


@define("/", "dd")
def _divide_doubles(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


@define("%", "ii", "uu")
def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return UInt(rest) if isinstance(left, UInt) else rest if left >= 0 else -rest


@define("in", "*l", "*m")
def _is_in(value: Any, operand: Any) -> bool:
    if isinstance(operand, list):
        return any(is_equal(value, item) for item in operand)
    return any(is_equal(value, key) for key in operand)


# Sizes and texts ---------------------------------------------------------------------------------
define("size", "s", "b", "l", "m")(len)
define("contains", "ss")(lambda a, b: b in a)
define("startsWith", "ss")(lambda a, b: a.startswith(b))
define("endsWith", "ss")(lambda a, b: a.endswith(b))


def pattern_of(text: str) -> Pattern:
    """Compile an RE2 pattern; raises `CelError` if it is invalid."""
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise CelError(f"error parsing regexp: {error}") from None


define("matches", "ss")(lambda a, b: pattern_of(b).search(a) is not None)


# Conversions -------------------------------------------------------------------------------------
define("dyn", "*")(lambda a: a)
define("type", "*")(lambda a: Type(kind_of(a)))
define("bool", "B")(lambda a: a)
define("bytes", "b")(lambda a: a)
define("bytes", "s")(lambda a: a.encode())
define("string", "s")(lambda a: a)
define("string", "i", "u")(str)
define("string", "d")(render_double)
define("string", "B")(lambda a: "true" if a else "false")
define("string", "D")(render_duration)
define("string", "T")(render_timestamp)
define("double", "d", "i", "u")(float)
define("int", "i", "u")(lambda a: check_int(int(a)))
define("int", "T")(lambda a: a.nanos // NANO)
define("int", "D")(lambda a: a.nanos)
define("uint", "i", "u")(lambda a: _to_uint(a))
define("duration", "D")(lambda a: a)
define("timestamp", "T")(lambda a: a)
define("timestamp", "i")(lambda a: Timestamp(a * NANO))


@define("string", "b")
def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


@define("bool", "s")
def _to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _refuse_text("bool")


def _to_uint(value: int) -> UInt:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return check_uint(value)


def _refuse_text(kind: str) -> CelError:
    return CelError(f"type conversion error from 'string' to '{kind}'")


@define("int", "s")
def _read_int(text: str) -> int:
    number = read_signed(text)
    if number is None:
        raise _refuse_text("int")
    return number


@define("uint", "s")
def _read_uint(text: str) -> UInt:
    number = read_digits(text)
    if number is None:
        raise _refuse_text("uint")
    return UInt(number)


@define("double", "s")
def _read_double(text: str) -> float:
    found = float(text) if _DOUBLE.fullmatch(text) else None
    if found is None or (math.isinf(found) and "n" not in text):  # no number that is too large
        raise _refuse_text("double")
    return found


@define("int", "d")
@define("uint", "d")
def _truncate(value: float) -> int:
    if not -INT64 < value < INT64:
        raise CelError("integer overflow")
    return int(value)


@define("duration", "s")
def _to_duration(text: str) -> Duration:
    found = read_duration(text)
    if found is None:
        raise _refuse_text("google.protobuf.Duration")
    return found


@define("timestamp", "s")
def _to_timestamp(text: str) -> Timestamp:
    found = read_timestamp(text)
    if found is None:
        raise _refuse_text("google.protobuf.Timestamp")
    return found


# Times -------------------------------------------------------------------------------------------
_FIELDS: Mapping[str, Callable[[Timestamp], int]] = {
    "getFullYear": lambda t: t.utc.year,
    "getMonth": lambda t: t.utc.month - 1,
    "getDate": lambda t: t.utc.day,
    "getDayOfMonth": lambda t: t.utc.day - 1,
    "getDayOfWeek": lambda t: t.utc.isoweekday() % 7,
    "getDayOfYear": lambda t: t.utc.timetuple().tm_yday - 1,
    "getHours": lambda t: t.utc.hour,
    "getMinutes": lambda t: t.utc.minute,
    "getSeconds": lambda t: t.utc.second,
    "getMilliseconds": lambda t: t.utc.microsecond // 1000,
}
_OFFSET: Final = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})\Z")
for _name, _read in _FIELDS.items():
    define(_name, "T")(_read)
    define(_name, "Ts")(lambda t, zone, read=_read: read(_shift(t, zone)))
for _name, _unit in (
    ("getHours", 3600 * NANO), ("getMinutes", 60 * NANO), ("getSeconds", NANO), ("getMilliseconds", 10**6)
):  # fmt: skip
    define(_name, "D")(lambda d, unit=_unit: int(abs(d.nanos) // unit) * (-1 if d.nanos < 0 else 1))


def _shift(moment: Timestamp, zone: str) -> Timestamp:
    if zone == "UTC":
        return moment
    found = _OFFSET.match(zone)
    if found is None:
        raise CelError(f"unknown time zone {zone}")
    nanos = (int(found[2]) * 60 + int(found[3])) * 60 * NANO
    return Timestamp(moment.nanos + (-nanos if found[1] == "-" else nanos))


# Optional values ---------------------------------------------------------------------------------
define("optional.none", "")(Optional)
define("optional.of", "*")(lambda a: Optional(a, True))
define("hasValue", "o")(lambda a: a.has_value)
define("or", "oo")(lambda a, b: a if a.has_value else b)
define("orValue", "o*")(lambda a, b: a.value if a.has_value else b)


@define("optional.ofNonZeroValue", "*")
def _of_non_zero(value: Any) -> Optional:
    is_zero = value is None or value in (0, "", b"", [], {}) or (isinstance(value, Duration) and value.nanos == 0)
    return Optional() if is_zero else Optional(value, True)


@define("value", "o")
def _value(operand: Optional) -> Any:
    if not operand.has_value:
        raise CelError("optional.none() dereference")
    return operand.value
