"""Resource quantities: their values, and how the server writes them back.

Rule: k8s.io/apimachinery `pkg/api/resource`: a quantity is kept as a number with a suffix family and written
canonically (`1000m` becomes `1`, `1.5Gi` becomes `1536Mi`). Values finer than nano are rounded up.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_UP, Context, Decimal
from functools import lru_cache

PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_SHAPE = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?\Z")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_BY_EXPONENT = {v: k for k, v in _DECIMAL.items()}
_BY_POWER = {v: k for k, v in _BINARY.items()}
_NANO = Decimal("1e-9")
_MILLI = Decimal("1e-3")


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> tuple[Decimal, str] | None:
    """Return the value and the suffix family ("binary", "decimal", "exponent"); None if it is not a quantity."""
    match = _SHAPE.match(text)
    if match is None:
        return None
    sign, digits, suffix = match.group(1), match.group(2), match.group(3) or ""
    number = Decimal(f"{sign}{digits}")
    if suffix in _BINARY:
        return (number * (Decimal(1024) ** _BINARY[suffix]), "binary")
    if suffix in _DECIMAL:
        return (number.scaleb(_DECIMAL[suffix]), "decimal")
    exponent = int(suffix[1:])
    return (number.scaleb(exponent), "exponent") if abs(exponent) < 400 else None


def _split(value: Decimal) -> tuple[int, int]:
    """Return (mantissa, exponent) without trailing zeros; the exponent is a multiple of 3, at least -9."""
    if value == 0:
        return 0, 0
    mantissa, exponent = int(value.scaleb(9)), -9
    while mantissa % 1000 == 0 and exponent < 18:
        mantissa //= 1000
        exponent += 3
    return mantissa, exponent


def _canonical_binary(value: Decimal) -> str | None:
    """Return the text with a binary suffix; None if the value is not an integer of at least 1024."""
    if value != value.to_integral_value() or abs(value) < 1024:
        return None
    number, power = int(value), 0
    while number % 1024 == 0 and power < 6 and number:
        number //= 1024
        power += 1
    return f"{number}{_BY_POWER[power]}" if power else str(number)


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str | None:
    """Return the text as the server writes it back; None if it is not a quantity."""
    parsed = parse_quantity(text)
    if parsed is None:
        return None
    value, family = parsed
    value = value.quantize(_NANO, rounding=ROUND_CEILING) if value.as_tuple().exponent < -9 else value  # type: ignore[operator]
    if family == "binary" and (binary := _canonical_binary(value)) is not None:
        return binary
    mantissa, exponent = _split(value)
    if family == "exponent":
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_BY_EXPONENT[exponent]}"


def round_up_to_milli(text: str) -> str:
    """Return an amount of a resource as defaulting leaves it: what is finer than milli is rounded away from zero.

    - Rule: how `pkg/apis/core/v1/defaults.go` treats lists of resources; single quantities keep their precision.
    """
    parsed = parse_quantity(text)
    if parsed is None or not parsed[0].is_finite() or int(parsed[0].as_tuple().exponent) >= -3:
        return text
    rounded = parsed[0].quantize(_MILLI, rounding=ROUND_UP, context=Context(prec=len(text) + 40))
    return text if rounded == parsed[0] else canonical_quantity(f"{rounded:f}") or text


@lru_cache(maxsize=4096)
def read_form(text: str) -> tuple[object, ...]:
    """Return what Go holds of a quantity once it is parsed: number, scale, suffix family, and the text if it is kept.

    - Rule: `ParseQuantity`. Quantities of one value differ in it: `0.5` is 5 with scale -1, `500m` is 500 with -3.
    """
    match = _SHAPE.match(text)
    if match is None or text == "0":
        return (0, 0, "decimal", text)
    sign, digits, suffix = match.group(1), match.group(2), match.group(3) or ""
    whole, _, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    length, is_binary = len(whole) + len(fraction), suffix in _BINARY
    if is_binary:
        exponent = 10 * _BINARY[suffix]
        room = -1 if fraction else 14 - len(whole) - exponent * 3 // 10
    else:
        exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        room = 18 - length
    scale = 0 if is_binary else exponent - len(fraction)
    parsed = parse_quantity(text)
    if parsed is None or room < 0 or scale < -9:
        return ("large", *(parsed or ()))
    shifted = whole + fraction
    number = int(f"{sign}{shifted}") * (2**exponent if is_binary else 1)
    is_kept = int(shifted) % 8 != 0 if is_binary else scale % 3 == 0 and shifted[-3:] != "000" and shifted[0] != "0"
    return (number, scale, parsed[1], text if is_kept else "")
