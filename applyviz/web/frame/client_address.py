"""The address of a client: forwarded headers count only when the operator trusts the proxy.

Rule: `X-Forwarded-For` is read from its end; each proxy appends the address of its peer. The first address that is no
trusted proxy is the client; everything before it was written by the client.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
"""What an untrusted proxy may not say."""
_PROXY_SIGNS = (
    *FORWARDED,
    "HTTP_VIA",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
)
"""Headers that only a proxy adds: a request with one does not come from this machine."""
CAME_BY_PROXY = "applyviz.came_by_proxy"
"""Set where an untrusted proxy passed a request on; no client can set a name without `HTTP_`."""
_MOST_HOPS = 20


def _read(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def is_trusted(text: str) -> bool:
    """Return whether an address is one of the trusted proxies (`APPLYVIZ_TRUSTED_PROXIES`)."""
    address = _read(text)
    return address is not None and any(
        address.version == network.version and address in network for network in settings.APPLYVIZ_TRUSTED_PROXIES
    )


def find_address(request: HttpRequest) -> str:
    """Return the address of the client as the last trusted proxy saw it; "" without one."""
    address = str(request.META.get("REMOTE_ADDR") or "")
    hops = request.headers.get("X-Forwarded-For", "").rsplit(",", _MOST_HOPS)[-_MOST_HOPS:]
    while hops and is_trusted(address):
        address = hops.pop() or address
    return str(_read(address) or "")[:45]


def is_from_this_machine(request: HttpRequest) -> bool:
    """Whether a request comes from this machine, and not from a proxy here that passes on what others send."""
    address = _read(str(request.META.get("REMOTE_ADDR") or ""))
    is_forwarded = CAME_BY_PROXY in request.META or any(
        name in _PROXY_SIGNS or name.startswith("HTTP_X_FORWARDED_") for name in request.META
    )
    return address is not None and address.is_loopback and not is_forwarded
