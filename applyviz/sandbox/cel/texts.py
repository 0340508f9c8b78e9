"""The function libraries of texts, lists, sets and regular expressions.

Rule: `ext.Strings`, `ext.Lists` and `ext.Sets` of cel-go, and `lists` and `regex` of the Kubernetes CEL library. The
letters of overloads are those of `functions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from applyviz.sandbox.cel.functions import SIZE_LIMIT, define, pattern_of
from applyviz.sandbox.cel.values import (
    CelError,
    Duration,
    NoOverloadError,
    Type,
    check_int,
    compare,
    is_equal,
    kind_of,
    render_double,
    render_duration,
    render_timestamp,
)

_QUOTED: Mapping[str, str] = dict(zip("\a\b\f\n\r\t\v", (f"\\{letter}" for letter in "abfnrtv"), strict=True)) | {
    "\\": "\\\\",
    '"': '\\"',
}
# Texts -------------------------------------------------------------------------------------------
define("lowerAscii", "s")(lambda a: "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in a))
define("upperAscii", "s")(lambda a: "".join(chr(ord(c) - 32) if "a" <= c <= "z" else c for c in a))
define("trim", "s")(lambda a: a.strip())
define("split", "ss")(lambda a, by: _split(a, by, -1))
define("split", "ssi")(lambda a, by, n: _split(a, by, n))
define("join", "l")(lambda a: _join(a, ""))
define("join", "ls")(lambda a, by: _join(a, by))
define("reverse", "s")(lambda a: a[::-1])
define("strings.quote", "s")(lambda a: '"' + "".join(_QUOTED.get(c, c) for c in a) + '"')
define("find", "ss")(lambda a, p: found.group() if (found := pattern_of(p).search(a)) else "")
define("findAll", "ss")(lambda a, p: [m.group() for m in pattern_of(p).finditer(a)])
define("findAll", "ssi")(lambda a, p, n: [m.group() for m in pattern_of(p).finditer(a)][: n if n >= 0 else None])


@define("replace", "sss", "sssi")
def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    _check_size(len(text) + count * max(len(new) - len(old), 0))
    return text.replace(old, new, limit if limit >= 0 else -1)


def _check_size(size: int) -> None:
    if size > SIZE_LIMIT:
        raise CelError("operation canceled: actual cost limit exceeded")


def _split(text: str, by: str, limit: int) -> list[str]:
    if limit in (0, 1):
        return [text] if limit else []
    if not by:
        pieces = list(text)
        return pieces if limit < 0 or len(pieces) <= limit else [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]
    return text.split(by, limit - 1 if limit > 0 else -1)


def _join(items: list[Any], by: str) -> str:
    if not all(isinstance(i, str) for i in items):
        raise NoOverloadError
    _check_size(sum(len(i) + len(by) for i in items))
    return by.join(items)


@define("charAt", "si")
def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


@define("indexOf", "ss", "ssi")
def _index_of(text: str, wanted: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(wanted, start)


@define("lastIndexOf", "ss", "ssi")
def _last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    if start is not None and not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.rfind(wanted, 0, None if start is None else start + len(wanted))


@define("substring", "si", "sii")
def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= end <= len(text):
        raise CelError(f"index out of range: {start if not 0 <= start <= len(text) else end}")
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


@define("format", "sl")
def _format(text: str, values: list[Any]) -> str:
    """Return the result of `"%s is %d".format([a, b])`."""
    left = iter(values)
    _check_size(text.count("%") * 400 + len(text))

    def replace(found: re.Match[str]) -> str:
        precision, letter = found.groups()
        if letter == "%":
            return "%"
        try:
            value = next(left)
        except StopIteration:
            raise CelError(f"index {len(values)} out of range") from None
        return _format_one(value, letter, min(int(precision[:3]), 100) if precision else 6)

    return re.sub(r"%(?:\.([0-9]+))?(.)", replace, text, flags=re.S)


def _format_one(value: Any, letter: str, precision: int) -> str:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if letter == "s":
        return show(value)
    if letter == "d" and is_whole:
        return str(int(value))
    if letter in "fe" and isinstance(value, (int, float)):
        return f"{float(value):.{precision}{letter}}"
    if letter in "box" and (is_whole or isinstance(value, bool)):
        return format(int(value), letter)
    if letter in "xX" and isinstance(value, (int, str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        text = raw.hex() if isinstance(raw, bytes) else format(raw, "x")
        return text.upper() if letter == "X" else text
    raise CelError(f'error during formatting: unrecognized formatting clause "{letter}"')


def show(value: Any) -> str:
    """Return a value as `%s` prints it."""
    shown: Mapping[type, Callable[[Any], str]] = {
        bool: lambda v: "true" if v else "false", type(None): lambda v: "null", float: render_double,
        bytes: lambda v: v.decode(errors="replace"), Type: lambda v: v.name, Duration: render_duration,
    }  # fmt: skip
    if isinstance(value, list):
        return f"[{', '.join(show(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{show(k)}: {show(value[k])}' for k in sorted(value, key=show))}}}"
    if kind_of(value) == "google.protobuf.Timestamp":
        return render_timestamp(value)
    found = shown.get(type(value))
    return found(value) if found else str(value)


# Lists and sets ----------------------------------------------------------------------------------
define("isSorted", "l")(lambda a: all(compare(x, y) <= 0 for x, y in pairwise(a)))
define("indexOf", "l*")(lambda a, x: next((i for i, v in enumerate(a) if is_equal(v, x)), -1))
define("lastIndexOf", "l*")(lambda a, x: next((i for i in range(len(a) - 1, -1, -1) if is_equal(a[i], x)), -1))
define("reverse", "l")(lambda a: a[::-1])
define("sort", "l")(lambda a: sorted(a, key=cmp_to_key(compare)))
define("flatten", "l")(lambda a: _flatten(a, 1))
define("flatten", "li")(lambda a, depth: _flatten(a, depth))
define("sets.contains", "ll")(lambda a, b: all(any(is_equal(x, y) for y in a) for x in b))
define("sets.intersects", "ll")(lambda a, b: any(is_equal(x, y) for x in a for y in b))
define("sets.equivalent", "ll")(
    lambda a, b: all(any(is_equal(x, y) for y in b) for x in a) and all(any(is_equal(x, y) for y in a) for x in b)
)


@define("min", "l")
def _least(items: list[Any]) -> Any:
    if not items:
        raise CelError("min called on empty list")
    return sorted(items, key=cmp_to_key(compare))[0]


@define("max", "l")
def _greatest(items: list[Any]) -> Any:
    if not items:
        raise CelError("max called on empty list")
    return sorted(items, key=cmp_to_key(compare))[-1]


@define("sum", "l")
def _sum(items: list[Any]) -> Any:
    if items and isinstance(items[0], Duration):
        return Duration(check_int(sum(d.nanos for d in items)))
    if any(isinstance(i, bool) or not isinstance(i, (int, float)) for i in items):
        raise NoOverloadError
    total = sum(items)
    return total if isinstance(total, float) else check_int(total)


@define("slice", "lii")
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < start or end > len(items):
        raise CelError(f"cannot slice({start}, {end}), invalid start or end index")
    return items[start:end]


@define("distinct", "l")
def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(is_equal(item, known) for known in found):
            found.append(item)
    return found


@define("lists.range", "i")
def _range(count: int) -> list[int]:
    if count > 100_000:
        raise CelError("operation canceled: actual cost limit exceeded")
    return list(range(count))


def _flatten(items: list[Any], depth: int) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    found: list[Any] = []
    for item in items:
        found.extend(_flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item])
    return found
