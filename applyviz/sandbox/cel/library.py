"""The function libraries of Kubernetes: quantities, URLs, addresses, versions, formats; it also loads `texts`.

Rule: https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries. The letters of
overloads besides those of `functions`: `q` quantity, `U` URL, `I` IP, `C` CIDR, `v` semver, `o` optional, `f` format.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.quantities import parse_quantity
from applyviz.kubernetes.parity.go_texts import BAD_QUANTITY, GoTextError, read_quantity
from applyviz.kubernetes.parity.name_formats import (
    label_1035_problems,
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.sandbox.cel import texts  # noqa: F401 - defines its functions
from applyviz.sandbox.cel.addresses import read_cidr, read_ip
from applyviz.sandbox.cel.functions import define
from applyviz.sandbox.cel.values import (
    CelError,
    Format,
    Optional,
    Quantity,
    Semver,
    Url,
    check_int,
    read_timestamp,
)
from applyviz.sandbox.cel.versions import read_version


# Quantities --------------------------------------------------------------------------------------
def _read_quantity(text: str) -> Quantity | None:
    found = parse_quantity(text)
    return Quantity(found[0]) if found is not None else None


@define("quantity", "s")
def _quantity(text: str) -> Quantity:
    found = _read_quantity(text)
    if found is None:
        raise CelError(_explain(text))
    return found


def _explain(text: str) -> str:
    """Return the words in which Go refuses a text that is no quantity."""
    try:
        read_quantity(text)
    except GoTextError as error:
        return str(error)
    return BAD_QUANTITY


@define("asInteger", "q")
def _as_integer(value: Quantity) -> int:
    if value.amount != value.amount.to_integral_value():
        raise CelError("cannot convert value to integer")
    return check_int(int(value.amount))


define("isQuantity", "s")(lambda a: _read_quantity(a) is not None)
define("sign", "q")(lambda a: (a.amount > 0) - (a.amount < 0))
define("isInteger", "q")(lambda a: a.amount == a.amount.to_integral_value())
define("asApproximateFloat", "q")(lambda a: float(a.amount))
define("isGreaterThan", "qq")(lambda a, b: a.amount > b.amount)
define("isLessThan", "qq")(lambda a, b: a.amount < b.amount)
define("compareTo", "qq")(lambda a, b: (a.amount > b.amount) - (a.amount < b.amount))
define("add", "qq")(lambda a, b: Quantity(a.amount + b.amount))
define("add", "qi")(lambda a, b: Quantity(a.amount + Decimal(b)))
define("sub", "qq")(lambda a, b: Quantity(a.amount - b.amount))
define("sub", "qi")(lambda a, b: Quantity(a.amount - Decimal(b)))


# URLs --------------------------------------------------------------------------------------------
def _read_url(text: str) -> Url | None:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    is_absolute = bool(parts.scheme) or text.startswith("/")
    return Url(parts, text) if is_absolute and not re.search(r"[\x00-\x20]", text) else None


@define("url", "s")
def _url(text: str) -> Url:
    found = _read_url(text)
    if found is None:
        raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return found


define("isURL", "s")(lambda a: _read_url(a) is not None)
define("getScheme", "U")(lambda a: a.parts.scheme)
define("getHost", "U")(lambda a: a.parts.netloc.rpartition("@")[2])
define("getHostname", "U")(lambda a: a.parts.hostname or "")
define("getPort", "U")(lambda a: "" if a.parts.port is None else str(a.parts.port))
define("getEscapedPath", "U")(lambda a: a.parts.path)
define("getQuery", "U")(lambda a: parse_qs(a.parts.query, keep_blank_values=True))


# Addresses ---------------------------------------------------------------------------------------
def _is_read(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except CelError:
        return False
    return True


define("ip", "s")(read_ip)
define("cidr", "s")(read_cidr)


def _contains(cidr: Any, other: Any) -> bool:
    if isinstance(other, str):
        other = read_ip(other) if "/" not in other else read_cidr(other)
    if cidr.version != other.version:
        return False
    if hasattr(other, "network"):
        return bool(other.network.prefixlen >= cidr.network.prefixlen and other.ip in cidr.network)
    return other in cidr.network


define("isIP", "s")(lambda a: _is_read(read_ip, a))
define("isCIDR", "s")(lambda a: _is_read(read_cidr, a))
define("ip.isCanonical", "s")(lambda a: str(read_ip(a)) == a)
define("family", "I")(lambda a: a.version)
define("isUnspecified", "I")(lambda a: a.is_unspecified)
define("isLoopback", "I")(lambda a: a.is_loopback)
define("isLinkLocalMulticast", "I")(
    lambda a: a.is_multicast and (a.packed[:3] == b"\xe0\0\0" or a.packed[:2] == b"\xff\x02")
)
define("isLinkLocalUnicast", "I")(lambda a: a.is_link_local)
define("isGlobalUnicast", "I")(
    lambda a: not (a.is_unspecified or a.is_loopback or a.is_multicast or a.is_link_local or a.packed == b"\xff" * 4)
)
define("containsIP", "CI", "Cs")(_contains)
define("containsCIDR", "CC", "Cs")(_contains)
define("ip", "C")(lambda a: a.ip)
define("prefixLength", "C")(lambda a: a.network.prefixlen)
define("masked", "C")(lambda a: ipaddress.ip_interface(str(a.network)))
define("string", "I")(str)
define("string", "C")(str)


# Semantic versions -------------------------------------------------------------------------------
define("semver", "s")(read_version)
define("semver", "sB")(lambda a, b: read_version(a, is_normalized=b))


def _order(left: Semver, right: Semver) -> int:
    if left.numbers != right.numbers or not left.pre or not right.pre:
        first, second = (left.numbers, not left.pre), (right.numbers, not right.pre)
        return (first > second) - (first < second)

    def key(part: str) -> tuple[int, int, str]:
        number = read_digits(part)
        return (1, 0, part) if number is None else (0, number, "")

    first_pre, second_pre = [key(p) for p in left.pre], [key(p) for p in right.pre]
    return (first_pre > second_pre) - (first_pre < second_pre)


define("isSemver", "s")(lambda a: _is_read(read_version, a))
define("isSemver", "sB")(lambda a, b: _is_read(lambda text: read_version(text, is_normalized=b), a))
define("major", "v")(lambda a: a.numbers[0])
define("minor", "v")(lambda a: a.numbers[1])
define("patch", "v")(lambda a: a.numbers[2])
define("compareTo", "vv")(_order)
define("isLessThan", "vv")(lambda a, b: _order(a, b) < 0)
define("isGreaterThan", "vv")(lambda a, b: _order(a, b) > 0)


# Named formats -----------------------------------------------------------------------------------
def _prefix_of(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: rule(text[:-1] + "a" if text.endswith("-") else text)


def _matching(test: Callable[[str], bool], problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if test(text) else [problem]


_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z")
_BYTE = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": label_problems,
    "dns1123Subdomain": subdomain_problems,
    "dns1035Label": label_1035_problems,
    "dns1123LabelPrefix": _prefix_of(label_problems),
    "dns1123SubdomainPrefix": _prefix_of(subdomain_problems),
    "dns1035LabelPrefix": _prefix_of(label_1035_problems),
    "qualifiedName": qualified_name_problems,
    "labelValue": label_value_problems,
    "uri": _matching(lambda t: _read_url(t) is not None, "invalid URL"),
    "uuid": _matching(lambda t: _UUID.match(t) is not None, "does not match the UUID format"),
    "byte": _matching(lambda t: _BYTE.match(t) is not None, "invalid base64"),
    "date": _matching(lambda t: read_timestamp(t + "T00:00:00Z") is not None, "invalid date"),
    "datetime": _matching(lambda t: read_timestamp(t) is not None, "invalid datetime"),
}
for _name in _FORMATS:
    define(f"format.{_name}", "")(lambda name=_name: Format(name))
define("format.named", "s")(lambda a: Optional(Format(a), True) if a in _FORMATS else Optional())


@define("validate", "fs")
def _validate(value_format: Format, text: str) -> Optional:
    problems = _FORMATS[value_format.name](text)
    return Optional(problems, True) if problems else Optional()
