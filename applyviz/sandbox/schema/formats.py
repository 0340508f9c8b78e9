"""Formats of texts in custom resources.

Rule: `pkg/validation/strfmt` of k8s.io/kube-openapi, and the formats that k8s.io/apiextensions-apiserver lets through;
a format that is not here is not checked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.late_patterns import LatePattern
from applyviz.kubernetes.parity.name_formats import label_problems, subdomain_problems
from applyviz.sandbox.cel.values import read_duration

_TIME = LatePattern(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_UUID = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}\Z"
_HEX, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_UUIDS = {
    "uuid": LatePattern(_UUID % (_HEX, _HEX)),
    "uuid3": LatePattern(_UUID % ("3[0-9a-f]{3}", _HEX)),
    "uuid4": LatePattern(_UUID % ("4[0-9a-f]{3}", _VARIANT)),
    "uuid5": LatePattern(_UUID % ("5[0-9a-f]{3}", _VARIANT)),
}
_EMAIL = LatePattern(r"(?:[^<>@\s]*<)?[^\s<>@(),:;\[\]\"]+@[^\s<>@(),:;\"]+>?\Z")
_DAY = LatePattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# Letters beyond ASCII stand for the Unicode classes of Go's pattern.
_LETTER = r"a-zA-Z0-9\u00a0-\U0010ffff"
_HOSTNAME = LatePattern(
    rf"([{_LETTER}]((-?[{_LETTER}]{{0,62}})?)|([{_LETTER}](([{_LETTER}-]{{0,61}}[{_LETTER}])?)\.)+"
    r"([a-zA-Z\u00a0-\U0010ffff]){2,63})\Z"
)
_BASE64 = LatePattern(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})\Z")
_COLOR = LatePattern(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z")
_MAC = LatePattern(r"(?i)[0-9a-f]{2}([:-][0-9a-f]{2})+\Z|[0-9a-f]{4}(\.[0-9a-f]{4})+\Z")
_SCALA = re.compile(r"(?<![0-9])([0-9]++)\s*+([A-Za-z\u00b5]+)")
_UNITS = frozenset(("ns", "us", "\u00b5s", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


_RGB_PART = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_RGB = LatePattern(rf"rgb\(\s*{_RGB_PART}\s*,\s*{_RGB_PART}\s*,\s*{_RGB_PART}\s*\)\Z")
_SSN = LatePattern(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}\Z")
_OBJECT_ID = LatePattern(r"[0-9a-fA-F]{24}\Z")
_URI = LatePattern(r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?://[^\x00-\x20\x7f/?#]*(?![^/?#])|(?!//))|/)[^\x00-\x1f\x7f]*\Z")
_BAD_ESCAPE = LatePattern("%(?![0-9A-Fa-f]{2})")
_AUTHORITY = LatePattern(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
# The characters of a host, which is in brackets if it has colons; a port is a number or empty.
_HOST = LatePattern(
    r"(?:\[[0-9A-Za-z:.%_~-]*\]|(?:[0-9A-Za-z\x80-\U0010ffff._~!$&'()*+,;=<>\"-]|%[89A-Fa-f][0-9A-Fa-f])*)(?::[0-9]*)?\Z"
)
_BEFORE_HOST = LatePattern(r"[0-9A-Za-z._:~!$&'()*+,;=%@-]*\Z")
_BOOK_10, _BOOK_13 = LatePattern(r"[0-9]{9}[0-9X]\Z"), LatePattern(r"[0-9]{13}\Z")
_BETWEEN = re.compile("[\t\n\f\r -]+")
_CARD = LatePattern(
    r"(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|"
    r"(2131|1800|35[0-9]{3})[0-9]{11})\Z"
)
# Every text is valid in these formats.
_ANY = frozenset(("password",))


def _is_uri(text: str) -> bool:
    """Return whether Go parses the URI of a request: an address with a scheme, or an absolute path."""
    if _URI.match(text) is None or _BAD_ESCAPE.search(text) is not None:
        return False
    authority = _AUTHORITY.match(text)
    user, mark, host = authority[1].rpartition("@") if authority else ("", "", "")
    return _HOST.match(host) is not None and (not mark or _BEFORE_HOST.match(user) is not None)


def _is_book(text: str) -> bool:
    return _is_book_10(text) or _is_book_13(text)


def _is_book_10(text: str) -> bool:
    plain = _BETWEEN.sub("", text)
    if _BOOK_10.match(plain) is None:
        return False
    return sum(weight * (10 if sign == "X" else int(sign)) for weight, sign in enumerate(plain, 1)) % 11 == 0


def _is_book_13(text: str) -> bool:
    plain = _BETWEEN.sub("", text)
    return _BOOK_13.match(plain) is not None and sum(int(n) * (1, 3)[i % 2] for i, n in enumerate(plain)) % 10 == 0


def _is_card(text: str) -> bool:
    """Return whether the digits are a card number: a known prefix and length, and a valid Luhn checksum."""
    plain = re.sub("[^0-9]+", "", text)
    digits = [int(sign) * (1 + i % 2) for i, sign in enumerate(reversed(plain))]
    return _CARD.match(plain) is not None and sum(digit // 10 + digit % 10 for digit in digits) % 10 == 0


def _is_date(text: str) -> bool:
    try:
        return _DAY.match(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, mark, rest = text.lower().partition("t")
    found = _TIME.match(rest) if mark and _is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address as old versions of Go read it: numbers may begin with zeros, and it has no zone."""
    head, colon, tail = text.rpartition(":")
    if "." in tail:
        tail = ".".join(re.sub("^0+(?=[0-9])", "", part) for part in tail.split("."))
    try:
        return None if "%" in text else ipaddress.ip_address(head + colon + tail)
    except ValueError:
        return None


def _is_address_6(text: str) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _is_network(text: str) -> bool:
    address, _, bits = text.partition("/")
    found, length = _read_address(address), read_digits(bits)
    return found is not None and length is not None and length <= found.max_prefixlen


def _is_duration(text: str) -> bool:
    """Return whether Go reads a duration, or finds one in the words of Scala anywhere in the text."""
    found = [(read_digits(number), unit.lower()) for number, unit in _SCALA.findall(text)]
    is_scala = any(unit in _UNITS or unit.startswith(_LONG_UNITS) for _, unit in found)
    return read_duration(text) is not None or (is_scala and all(number is not None for number, _ in found))


def _is_hardware_address(text: str) -> bool:
    is_one_form = len({c for c in text if c in ":-."}) == 1 and _MAC.match(text) is not None
    return is_one_form and len(re.findall("[0-9A-Fa-f]{2}", text)) in (6, 8, 20)


def _is_hostname(text: str) -> bool:
    return len(text) <= 255 and all(len(part) <= 63 for part in text.split(".")) and bool(_HOSTNAME.match(text))


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "email": lambda text: _EMAIL.match(text) is not None,
    "ipv4": lambda text: "." in text and _read_address(text) is not None,
    "ipv6": _is_address_6,
    "cidr": _is_network,
    "duration": _is_duration,
    "byte": lambda text: _BASE64.match(text) is not None,
    "hostname": _is_hostname,
    "mac": _is_hardware_address,
    "hexcolor": lambda text: _COLOR.match(text) is not None,
    "uri": _is_uri,
    "rgbcolor": lambda text: _RGB.match(text) is not None,
    "ssn": lambda text: len(text) == 11 and _SSN.match(text) is not None,
    "isbn": _is_book,
    "isbn10": _is_book_10,
    "isbn13": _is_book_13,
    "creditcard": _is_card,
    "bsonobjectid": lambda text: _OBJECT_ID.match(text) is not None,
    "k8s-short-name": lambda text: not label_problems(text),
    "k8s-long-name": lambda text: not subdomain_problems(text),
}


def is_format_of(kind: str, name: str) -> bool:
    """Return whether values of a type are checked for a format; a server ignores all other formats."""
    if kind == "string":
        return name in _UUIDS or name in _FORMATS or name in _ANY
    return name in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(kind, ())


def has_format(text: str, name: str) -> bool:
    """Return whether a text has a format; of unknown formats every text is."""
    if name in _UUIDS:
        return _UUIDS[name].match(text) is not None
    check = _FORMATS.get(name)
    return check is None or check(text)
