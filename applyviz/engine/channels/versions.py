"""Semantic versions and ranges of them, as kOps compares the version of a cluster.

Rule: https://semver.org and the ranges of the Go library blang/semver: conditions beside each other must all hold, `||`
separates alternatives, `x` stands for any number. The pre-release and build parts of the cluster's version do not
count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.golang import is_digits

_NUMBER = r"(?:0|[1-9][0-9]{0,19})"
_VERSION = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_TOLERANT = re.compile(r"\s*v?([0-9]{1,20})(?:\.([0-9]{1,20}))?(?:\.([0-9]{1,20}))?(?:[-+].*)?\s*", re.DOTALL)
_SHORT = re.compile(r"\s*v?([0-9]{1,20})(?:\.([0-9]{1,20}))?\s*")
_CONDITION = re.compile(r"(==|=|!=|!|>=|<=|>|<)?\s*([0-9xX*][^\s<>=!|]*)")
_ANY = ("x", "X", "*")
_DIGITS = 20  # of the largest number in 64 bits
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "": eq,
    "=": eq,
    "==": eq,
    "!": ne,
    "!=": ne,
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}
Key = tuple[int, int, int, tuple[tuple[int, int, str], ...]]
_LAST = ((2, 0, ""),)
"""The key of the missing pre-release part: after every pre-release."""


class RangeError(ApplyVizError):
    """A version or a range of versions that cannot be read."""


def read_cluster_version(text: str) -> Key:
    """Return the key of a cluster's version, `v1.36.3-gke.1`; its pre-release and build parts do not count.

    - Raises `RangeError`.
    """
    found = _TOLERANT.fullmatch(text)
    if found is None:
        raise RangeError(f"{text or 'no text'} is not a version")
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch, _LAST)


def read_addon_version(text: str) -> Key:
    """Return the key of the version of an addon, `v1.6` and `1.6.0-beta.1` too; pre-releases come before their version.

    - Raises `RangeError`.
    """
    short = _SHORT.fullmatch(text)
    if short is not None:
        return (int(short[1]), int(short[2] or 0), 0, _LAST)
    return _read_version(text.strip().removeprefix("v"))


def _read_version(text: str) -> Key:
    found = _VERSION.fullmatch(text)
    if found is None:
        raise RangeError(f"{text} is not a version")
    major, minor, patch, before = found.groups()
    return (int(major), int(minor), int(patch), _rank_release(before) if before else _LAST)


def _rank_release(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the rank of a pre-release: numbers by value and before words, a longer one after its beginning."""
    parts = text.split(".")
    if any(is_digits(part) and len(part) > _DIGITS for part in parts):
        raise RangeError(f"a number in {text[:_DIGITS]}… has more than 64 bits")
    return tuple((0, int(part), "") if is_digits(part) else (1, 0, part) for part in parts)


class _Condition(Struct, frozen=True):
    sign: str
    version: Key

    def holds(self, version: Key) -> bool:
        return bool(_COMPARE[self.sign](version, self.version))


def _fill(known: list[int]) -> Key:
    """Return the first version that begins with these one or two numbers."""
    return (known[0], known[1] if len(known) > 1 else 0, 0, _LAST)


def _widen(sign: str, parts: list[str]) -> list[_Condition]:
    """Return the conditions for a version in which any number may stand for the last parts."""
    numbers = [part for part in parts if part not in _ANY]
    is_known = all(is_digits(part) and len(part) <= _DIGITS for part in numbers)
    if parts[: len(numbers)] != numbers or not numbers or not is_known:
        raise RangeError(f"{'.'.join(parts)} is not a version")
    known = [int(part) for part in numbers]
    first, after = _fill(known), _fill([*known[:-1], known[-1] + 1])
    match sign:
        case "" | "=" | "==":
            return [_Condition(">=", first), _Condition("<", after)]
        case ">":
            return [_Condition(">=", after)]
        case ">=":
            return [_Condition(">=", first)]
        case "<":
            return [_Condition("<", first)]
        case "<=":
            return [_Condition("<", after)]
    raise RangeError(f"{sign}{'.'.join(parts)} cannot stand for several versions")


def _read_conditions(text: str) -> list[_Condition]:
    found: list[_Condition] = []
    text = " ".join(text.split())
    at = 0
    while at < len(text):
        at += text[at] == " "
        condition = _CONDITION.match(text, at)
        if condition is None:
            raise RangeError(f"{text[at:]} is not a condition on a version")
        sign, version = condition[1] or "", condition[2]
        parts = version.split(".")
        if any(part in _ANY for part in parts) and len(parts) <= 3:
            found += _widen(sign, parts)
        else:
            found.append(_Condition(sign, _read_version(version)))
        at = condition.end()
    if not found:
        raise RangeError("a range needs a condition")
    return found


def is_in_range(version: Key, text: str) -> bool:
    """Return whether a version is in a range, such as `>=1.19.0 <1.22.0 || 1.30.x`.

    - Raises `RangeError`.
    """
    alternatives = [_read_conditions(part) for part in text.split("||")]
    return any(all(condition.holds(version) for condition in conditions) for conditions in alternatives)
