"""Validate IP addresses and networks.

Rule: `pkg/util/validation/ip.go` of k8s.io/apimachinery v0.36.3, for fields older than strict validation.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from applyviz.kubernetes.parity.status import FieldError, invalid

_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LEADING_ZEROS = "must not have leading 0s"
_ZEROS = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def validate_address(text: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of an IP address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        yield invalid(path, text, _LEADING_ZEROS if is_with_zeros(text) else _NO_ADDRESS)
        return
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def is_with_zeros(text: str) -> bool:
    """Return whether a text would be an IPv4 address without the zeros that its numbers begin with."""
    try:
        ipaddress.IPv4Address(_ZEROS.sub("", text))
    except ValueError:
        return False
    return True


def validate_network(text: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of a network with its prefix length."""
    head, _, length = text.partition("/")
    plain = _ZEROS.sub("", head)
    try:
        network = ipaddress.ip_interface(f"{plain}/{int(length) if _DIGITS.fullmatch(length) else ''}")
    except ValueError:
        yield invalid(path, text, _NO_NETWORK)
        return
    if plain != head or length != str(int(length)):
        yield invalid(path, text, f"{_LEADING_ZEROS} in IP or prefix length")
    elif isinstance(network, ipaddress.IPv6Interface) and network.ip.ipv4_mapped is not None:
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif network.ip != network.network.network_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def validate_reachable(text: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of an address at which nothing can be reached from elsewhere.

    - Rule: ValidateEndpointIP.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        yield invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    elif address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    elif address.is_multicast and address.packed[:3] == b"\xe0\0\0":
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
