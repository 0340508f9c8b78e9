"""Check addresses: links may connect only to public unicast addresses, clusters never to link-local ones.

Rule: IANA special-purpose registries as `ipaddress` knows them, and what `is_global` alone accepts: IPv4 addresses that
hide in IPv6 (mapped and ISATAP ones are unwrapped; compatible, NAT64, 6to4 and Teredo are refused), multicast, and the
metadata addresses of clouds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_REFUSED_V4 = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),  # carrier-grade NAT, and the metadata service of one cloud
    IPv4Network("168.63.129.16/32"),  # the platform address of another
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),  # relay of 6to4
    IPv4Network("198.18.0.0/15"),
    IPv4Network("224.0.0.0/3"),
)
_REFUSED_V6 = (
    IPv6Network("::/96"),  # unspecified, loopback, IPv4-compatible
    IPv6Network("100::/64"),
    IPv6Network("2001::/23"),
    IPv6Network("2001:db8::/32"),
    IPv6Network("2002::/16"),
    IPv6Network("3fff::/20"),
    IPv6Network("5f00::/16"),
    IPv6Network("fc00::/7"),
    IPv6Network("fe80::/9"),
    IPv6Network("ff00::/8"),
    IPv6Network("64:ff9b::/96"),
    IPv6Network("64:ff9b:1::/48"),
)
# Metadata services, which give a machine its credentials, and addresses without a router; neither clusters nor links.
_LINK_LOCAL = (
    IPv4Network("169.254.0.0/16"),
    IPv4Network("168.63.129.16/32"),
    IPv4Network("100.100.100.200/32"),
    IPv4Network("192.0.0.192/32"),
    IPv6Network("fe80::/10"),
    IPv6Network("fd00:ec2::254/128"),
    IPv6Network("fd20:ce::254/128"),
)
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
_6TO4 = IPv6Network("2002::/16")
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)


def is_public(address: Address) -> bool:
    """Return whether an address is a public unicast one, and an IPv4 address that hides in it too."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _REFUSED_V4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if not address.is_global or any(address in network for network in _REFUSED_V6):
        return False
    is_isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS
    return not is_isatap or is_public(IPv4Address(int(address) & 0xFFFFFFFF))


def _list_hidden(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address may lead to."""
    number = int(address)
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if any(address in network for network in _NAT64) or (number >> 32) & 0xFFFFFFFF in _ISATAP_MARKS:
        yield IPv4Address(number & 0xFFFFFFFF)
    if address in _6TO4:
        yield IPv4Address((number >> 80) & 0xFFFFFFFF)


def is_link_local(address: Address) -> bool:
    """Return whether an address is link-local or a cloud's metadata service, also inside an IPv6 address."""
    if any(address in network for network in _LINK_LOCAL if network.version == address.version):
        return True
    return isinstance(address, IPv6Address) and any(map(is_link_local, _list_hidden(address)))


def find_link_local(texts: Iterable[str]) -> str:
    """Return the first link-local address, "" if there is none; texts that are not addresses are skipped."""
    for text in texts:
        with suppress(ValueError):
            if is_link_local(ip_address(text.partition("%")[0])):
                return text
    return ""


def find_public(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses if every one of them is public, else (): one forbidden address excludes the name."""
    try:
        addresses = [ip_address(text) for text in texts]
    except ValueError:
        return ()
    return texts if addresses and all(is_public(address) for address in addresses) else ()
