"""Parse IP addresses and CIDRs as CEL does on the server, with its messages for other texts.

Rule: `ParseAddr` and `ParsePrefix` of Go's `net/netip`, and `ip.go` and `cidr.go` of `pkg/cel/library` of
k8s.io/apiserver, which refuse zones and IPv4 addresses written as IPv6.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from applyviz.engine.objects.golang import quote, read_digits
from applyviz.sandbox.cel.values import CelError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface
_CONVERSION: Final = "parse error during conversion from string"
_HEX: Final = re.compile("[0-9a-fA-F]*")


class _GoError(Exception):
    """The message of Go for a text that is not an address."""


def read_ip(text: str) -> Address:
    """Return the address of a text; raises `CelError`."""
    try:
        _check_address(text)
    except _GoError as error:
        raise CelError(f"IP Address {quote(text)} {_CONVERSION}: {error}") from None
    if "%" in text:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    found = ipaddress.ip_address(text)
    _refuse_mapped(found, text)
    return found


def read_cidr(text: str) -> Network:
    """Return the network of a text; raises `CelError`."""
    try:
        _check_prefix(text)
    except _GoError as error:
        around = f"network address {_CONVERSION}"
        raise CelError(f"{around}: {around}: netip.ParsePrefix({quote(text)}): {error}") from None
    found = ipaddress.ip_interface(text)
    _refuse_mapped(found, text, around=f"network address {_CONVERSION}: ")
    return found


def _refuse_mapped(found: Address | Network, text: str, *, around: str = "") -> None:
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise CelError(f"{around}IPv4-mapped IPv6 address {quote(text)} is not allowed")


def _check_prefix(text: str) -> None:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _GoError("no '/'")
    _check_address(address)
    if "%" in address:
        raise _GoError("IPv6 zones cannot be present in a prefix")
    length = read_digits(bits)
    if length is None or (len(bits) > 1 and bits[0] == "0"):
        raise _GoError(f"bad bits after slash: {quote(bits)}")
    if length > (128 if ":" in address else 32):
        raise _GoError("prefix length out of range")


def _check_address(text: str) -> None:
    sign = next((sign for sign in text if sign in ".:%"), "")
    if sign == ".":
        _check_ip4(text, text)
    elif sign == ":":
        _check_ip6(text)
    else:
        raise _refuse(text, "missing IPv6 address" if sign else "unable to parse IP")


def _refuse(text: str, message: str, at: str = "") -> _GoError:
    return _GoError(f"ParseAddr({quote(text)}): {message}" + (f" (at {quote(at)})" if at else ""))


def _check_ip4(text: str, part: str) -> None:
    fields, digits = 1, ""
    for i, sign in enumerate(part):
        if sign in "0123456789":
            if digits == "0":
                raise _refuse(text, "IPv4 field has octet with leading zero")
            digits += sign
            if int(digits) > 255:
                raise _refuse(text, "IPv4 field has value >255")
        elif sign != ".":
            raise _refuse(text, "unexpected character", part[i:])
        elif not digits or i == len(part) - 1:
            raise _refuse(text, "IPv4 field must have at least one digit", part[i:])
        elif fields == 4:
            raise _refuse(text, "IPv4 address too long")
        else:
            fields, digits = fields + 1, ""
    if fields < 4:
        raise _refuse(text, "IPv4 address too short")


def _check_ip6(text: str) -> None:
    rest, mark, zone = text.partition("%")
    if mark and not zone:
        raise _refuse(text, "zone must be a non-empty string")
    is_short, groups = rest.startswith("::"), 0
    rest = rest[2:] if is_short else rest
    if is_short and not rest:
        return
    while groups < 8:
        digits = _read_group(text, rest)
        if rest[digits : digits + 1] == ".":
            groups, rest = _end_with_ip4(text, rest, groups, is_short=is_short), ""
            break
        groups, rest = groups + 1, rest[digits:]
        if not rest:
            break
        rest = _skip_colon(text, rest)
        if rest.startswith(":"):
            if is_short:
                raise _refuse(text, "multiple :: in address", rest)
            is_short, rest = True, rest[1:]
            if not rest:
                break
    _check_end(text, rest, groups, is_short=is_short)


def _skip_colon(text: str, rest: str) -> str:
    if not rest.startswith(":"):
        raise _refuse(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _refuse(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _read_group(text: str, rest: str) -> int:
    """Return how many digits a field of the address has."""
    found = _HEX.match(rest)
    digits = found.end() if found else 0
    if digits > 4:
        raise _refuse(text, "each group must have 4 or less digits", rest)
    if not digits:
        raise _refuse(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _end_with_ip4(text: str, rest: str, groups: int, *, is_short: bool) -> int:
    if not is_short and groups != 6:
        raise _refuse(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups > 6:
        raise _refuse(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_ip4(text, rest)
    return groups + 2


def _check_end(text: str, rest: str, groups: int, *, is_short: bool) -> None:
    if rest:
        raise _refuse(text, "trailing garbage after address", rest)
    if groups < 8 and not is_short:
        raise _refuse(text, "address string too short")
    if groups == 8 and is_short:
        raise _refuse(text, "the :: must expand to at least one field of zeros")
