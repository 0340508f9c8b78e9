"""Parse semantic versions as CEL does on the server, with its messages for other texts.

Rule: `Parse` of github.com/blang/semver v4, and k8s.io/apiserver `pkg/cel/library/semverlib.go`.
"""

from __future__ import annotations

import re
from typing import Final

from applyviz.engine.objects.golang import quote, read_digits
from applyviz.sandbox.cel.values import CelError, Semver

_NUMBER: Final = re.compile(r"[0-9]*\Z")
_WORD: Final = re.compile(r"[0-9A-Za-z-]+\Z")


def read_version(text: str, *, is_normalized: bool = False) -> Semver:
    """Return the version of a text; raises `CelError`.

    - `is_normalized`: a letter v before the version, leading zeros and missing numbers are allowed.
    """
    text = _normalize(text) if is_normalized else text
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    numbers = [_read_number(*one) for one in zip(("major", "minor", "patch"), (*parts[:2], patch), strict=True)]
    pre = tuple(before.split(".")) if dash else ()
    for one in pre:
        _check_pre(one)
    for one in build.split(".") if plus else ():
        if not one:
            raise CelError("Build meta data is empty")
        if not _WORD.match(one):
            raise CelError(f"Invalid character(s) found in build meta data {quote(one)}")
    return Semver((numbers[0], numbers[1], numbers[2]), pre)


def _normalize(text: str) -> str:
    parts = [_strip_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise CelError("Short version cannot contain PreRelease/Build meta data")
    return ".".join((*parts, "0", "0")[: max(3, len(parts))])


def _strip_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    plain = part.lstrip("0")
    return plain if plain[:1] in tuple("0123456789") else f"0{plain}"


def _read_number(name: str, digits: str) -> int:
    if not _NUMBER.match(digits):
        raise CelError(f"Invalid character(s) found in {name} number {quote(digits)}")
    if len(digits) > 1 and digits[0] == "0":
        raise CelError(f"{name.capitalize()} number must not contain leading zeroes {quote(digits)}")
    return _read_uint(digits)


def _read_uint(digits: str) -> int:
    number = read_digits(digits)
    if number is None:
        reason = "value out of range" if digits else "invalid syntax"
        raise CelError(f"strconv.ParseUint: parsing {quote(digits)}: {reason}")
    return number


def _check_pre(part: str) -> None:
    if not part:
        raise CelError("Prerelease is empty")
    if _NUMBER.match(part):
        if len(part) > 1 and part[0] == "0":
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quote(part)}")
        _read_uint(part)
    elif not _WORD.match(part):
        raise CelError(f"Invalid character(s) found in prerelease {quote(part)}")
