"""Formats of texts in custom resources.

Rule: `pkg/validation/strfmt` of k8s.io/kube-openapi, and the formats that k8s.io/apiextensions-apiserver lets through;
a format that is not here is not checked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z")
_EMAIL = re.compile(r"(?:[^<>@\s]*<)?[^\s<>@(),:;\[\]\"]+@[^\s<>@(),:;\"]+>?\Z")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def _is_date(text: str) -> bool:
    try:
        return _DAY.match(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, mark, rest = text.lower().partition("t")
    found = _TIME.match(rest) if mark and _is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_address(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _is_network(text: str) -> bool:
    try:
        return "/" in text and bool(ipaddress.ip_interface(text))
    except ValueError:
        return False


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "email": lambda text: _EMAIL.match(text) is not None,
    "ipv4": lambda text: _is_address(text, 4),
    "ipv6": lambda text: _is_address(text, 6),
    "cidr": _is_network,
    "uuid": lambda text: _UUID.match(text) is not None,
}


def has_format(text: str, name: str) -> bool:
    """Return whether a text has a format; of unknown formats every text is."""
    check = _FORMATS.get(name)
    return check is None or check(text)
