"""Resource quantities: their values, and how the server writes them back.

Rule: k8s.io/apimachinery `pkg/api/resource`: a quantity is kept as a number with a suffix family and written
canonically (`1000m` becomes `1`, `1.5Gi` becomes `1536Mi`). Values finer than nano are rounded up, and with a binary
suffix no value is greater than the greatest integer of 64 bits.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.values import JSONValue

PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_SHAPE = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?\Z")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_BY_EXPONENT = {v: k for k, v in _DECIMAL.items()}
_BY_POWER = {v: k for k, v in BINARY.items()}
_NANO, _NANO_DIGITS = Decimal("1e-9"), 9
_MILLI = Decimal("1e-3")
_MOST, _MOST_EXPONENT = Decimal((1 << 63) - 1), 400


def _make_context(text: str) -> Context:
    """Return a context that rounds no value of a text, as Python's own would from 28 digits on."""
    return Context(prec=len(text) + 40, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _read_exponent(suffix: str) -> int | None:
    number = read_digits(suffix[1:].lstrip("+-"))
    if number is None or number >= _MOST_EXPONENT:
        return None
    return -number if suffix[1] == "-" else number


def _parse(text: str) -> tuple[Decimal, str] | None:
    match = _SHAPE.match(text)
    if match is None:
        return None
    sign, digits, suffix = match.group(1), match.group(2), match.group(3) or ""
    number = Decimal(f"{sign}{digits}")
    if suffix in BINARY:
        value = _make_context(text).multiply(number, 1024 ** BINARY[suffix])
        return max(-_MOST, min(value, _MOST)), "binary"
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else _read_exponent(suffix)
    if exponent is None:
        return None
    return _make_context(text).scaleb(number, exponent), "decimal" if suffix in _DECIMAL else "exponent"


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> tuple[Decimal, str] | None:
    """Return the value and the suffix family ("binary", "decimal", "exponent"); None if it is not a quantity."""
    return _parse(text)


def read_amount(value: JSONValue) -> Decimal | None:
    """Return the amount of a quantity that a document writes as text or as a number; None for any other value.

    - Any value may be asked about, so that none is kept: a text may be long, or secret.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    parsed = _parse(str(value))
    return None if parsed is None else parsed[0]


def _split(value: Decimal) -> tuple[str, int]:
    """Return (mantissa, exponent) without trailing zeros; the exponent is a multiple of 3, at least -9."""
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    written = f"{whole}{fraction:0<9}".lstrip("0")
    if not written:
        return "0", 0
    steps = (len(written) - len(written.rstrip("0"))) // 3
    return f"{'-' if value.is_signed() else ''}{written[: len(written) - 3 * steps]}", 3 * steps - 9


def _canonical_binary(value: Decimal) -> str | None:
    """Return the text with a binary suffix; None if the value is not an integer of at least 1024."""
    if value != value.to_integral_value() or value.copy_abs() < 1024:
        return None
    number, power = int(value), 0
    while number % 1024 == 0 and power < 6 and number:
        number //= 1024
        power += 1
    return f"{number}{_BY_POWER[power]}" if power else str(number)


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str | None:
    """Return the text as the server writes it back; None if it is not a quantity.

    - Go keeps most texts that are as short as the canonical one, with their sign, zeros and exponent: `+5`, `1E3`.
    """
    parsed = parse_quantity(text)
    if parsed is None:
        return None
    kept = read_form(text)[-1]
    return kept if isinstance(kept, str) and kept else _write(text, *parsed)


def _write(text: str, value: Decimal, family: str) -> str:
    """Return the canonical text of a value; `text` is how it was written."""
    if int(value.as_tuple().exponent) < -_NANO_DIGITS:
        value = value.quantize(_NANO, rounding=ROUND_UP, context=_make_context(text))
    if family == "binary" and (binary := _canonical_binary(value)) is not None:
        return binary
    mantissa, exponent = _split(value)
    if family == "exponent":
        return f"{mantissa}e{exponent}" if exponent else mantissa
    return f"{mantissa}{_BY_EXPONENT.get(exponent, '')}"  # from 10**21 on, the server finds no suffix and writes none


def round_up_to_milli(text: str) -> str:
    """Return an amount of a resource as defaulting leaves it: what is finer than milli is rounded away from zero.

    - Rule: how `pkg/apis/core/v1/defaults.go` treats lists of resources; single quantities keep their precision.
    """
    parsed = parse_quantity(text)
    if parsed is None or not parsed[0].is_finite() or int(parsed[0].as_tuple().exponent) >= -3:
        return text
    rounded = parsed[0].quantize(_MILLI, rounding=ROUND_UP, context=_make_context(text))
    return text if rounded == parsed[0] else _write(text, rounded, parsed[1])


@lru_cache(maxsize=4096)
def read_form(text: str) -> tuple[object, ...]:
    """Return what Go holds of a quantity once it is parsed: number, scale, suffix family, and the text if it is kept.

    - Rule: `ParseQuantity`. Quantities of one value differ in it: `0.5` is 5 with scale -1, `500m` is 500 with -3.
    """
    match = _SHAPE.match(text)
    if match is None or text == "0":
        return (0, 0, "decimal", text)
    parsed, sign, digits, suffix = parse_quantity(text), match.group(1), match.group(2), match.group(3) or ""
    if parsed is None:
        return ("large", "")
    whole, _, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    length, is_binary = len(whole) + len(fraction), suffix in BINARY
    if is_binary:
        exponent = 10 * BINARY[suffix]
        room = -1 if fraction else 14 - len(whole) - exponent * 3 // 10
    else:
        exponent = _DECIMAL[suffix] if suffix in _DECIMAL else _read_exponent(suffix) or 0
        room = 18 - length
    scale = 0 if is_binary else exponent - len(fraction)
    if room < 0 or scale < -9:
        return ("large", *parsed, "")
    shifted = whole + fraction
    number = int(f"{sign}{shifted}") * (2**exponent if is_binary else 1)
    is_kept = int(shifted) % 8 != 0 if is_binary else scale % 3 == 0 and shifted[-3:] != "000" and shifted[0] != "0"
    return (number, scale, parsed[1], text if is_kept else "")
