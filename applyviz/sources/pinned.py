"""Connect to checked addresses only: what links, webhooks and git repositories share.

A name is resolved once, every address must be public (or the operator allows the origin by name), and the connection
goes to exactly that address with the name kept for TLS and Host. No proxies, no redirects; time is limited.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

import urllib3
from msgspec import Struct
from urllib3.connection import HTTPConnection, HTTPSConnection

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.addresses import find_link_local, find_public

Resolver: TypeAlias = Callable[[str, int], tuple[str, ...]]

_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]+\])\Z")
_PORTS = {"http": 80, "ssh": 22}
REDIRECTS = frozenset((301, 302, 303, 307, 308))
OBJECT_STORES = frozenset(("s3", "gs", "do", "swift", "scw", "azureblob"))
"""Schemes that kOps reads and nothing here does."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
HEADERS: Mapping[str, str] = MappingProxyType(
    {"Accept-Encoding": "identity", "Accept": "*/*", "User-Agent": "applyviz"}
)


def resolve_name(host: str, port: int) -> tuple[str, ...]:
    """Resolve a name with the system's resolver, once; return () if there is no answer."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class FetchPolicy(Struct, frozen=True):
    """The URLs that may be fetched, and their limits.

    - `internal`: origins such as `https://git.example:8443` or `http://127.0.0.1:8080` whose addresses need not be
      public; only these may use http or another port.
    - `ca_file`: a certificate authority to trust in addition to the system's.
    - `failure_seconds`: no failure is reported earlier, so that fast and slow failures look alike.
    """

    internal: tuple[str, ...] = ()
    max_bytes: int = 10 * 1024 * 1024
    total_seconds: float = 15.0
    max_redirects: int = 3
    ca_file: str = ""
    failure_seconds: float = 1.0


class FetchTarget(Struct, frozen=True):
    """A parsed address; `is_internal`: the operator allows its origin."""

    url: str
    scheme: str
    host: str
    port: int
    path: str
    is_internal: bool


@dataclass(slots=True)
class Deadline:
    """The end of a fetch, by a clock."""

    ends: float
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float:
        """Return the seconds that remain, never 0."""
        return max(self.ends - self.clock(), 0.001)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.ends


def origin_of(parts: SplitResult) -> tuple[str, str, int]:
    """Return scheme, host and port of an address."""
    port = parts.port if parts.port is not None else _PORTS.get(parts.scheme, 443)
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def _refuse_port(scheme: str, port: int, expected: str) -> None:
    """Raise `SourceError` for a protocol or port that only an allowed origin may have."""
    if scheme in OBJECT_STORES:
        raise SourceError(f"{scheme} addresses are not read: download the folder and upload it")
    if scheme != expected:
        raise SourceError(f"only {expected} links are fetched")
    if port != _PORTS.get(expected, 443):
        raise SourceError(f"only links to port {_PORTS.get(expected, 443)} are fetched")


def read_target(url: str, policy: FetchPolicy, *, is_ssh: bool = False) -> FetchTarget:
    """Parse a URL strictly; raises `SourceError` with a reason that a person can act on.

    - `is_ssh`: an address of the ssh protocol, which only repositories have; no other address may have it.
    """
    if _UNSAFE.search(url) or len(url) > 4096:
        raise SourceError("the link contains spaces, control characters or backslashes, or is too long")
    try:
        parts = urlsplit(url)
        scheme, host, port = origin_of(parts)
    except ValueError:
        raise SourceError("this is not a link") from None
    if parts.username is not None or "@" in parts.netloc:
        raise SourceError("a link with a user name or password is not fetched")
    bare = parts.netloc.rsplit(":", 1)[0] if parts.port is not None else parts.netloc.removesuffix(":")
    if not _HOST.match(bare):
        raise SourceError("the host of the link is not written as a plain name or address")
    is_internal = (scheme, host, port) in {origin_of(urlsplit(origin)) for origin in policy.internal}
    if not is_internal or (scheme == "ssh") != is_ssh:
        _refuse_port(scheme, port, "ssh" if is_ssh else "https")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return FetchTarget(parts._replace(fragment="").geturl(), scheme, host, port, path, is_internal)


class _PinnedHTTPConnection(HTTPConnection):
    # Connects to a checked address; `host` stays the name, so the Host header is right.
    pinned: tuple[str, ...] = ()

    def _new_conn(self) -> socket.socket:
        return _connect_pinned(self.pinned, self.port or 80, self.timeout)


class _PinnedHTTPSConnection(HTTPSConnection):
    # The same for TLS: SNI and the certificate check use `host`.
    pinned: tuple[str, ...] = ()

    def _new_conn(self) -> socket.socket:
        return _connect_pinned(self.pinned, self.port or 443, self.timeout)


def _connect_pinned(addresses: tuple[str, ...], port: int, timeout: object) -> socket.socket:
    seconds = float(timeout) if isinstance(timeout, (int, float)) else 5.0
    last: OSError = OSError("no address")
    for address in addresses[:4]:
        try:
            return socket.create_connection((address, port), seconds / min(len(addresses), 4))
        except OSError as error:
            last = error
    raise last


@dataclass(slots=True)
class PinnedClient:
    """Connections of one fetch, to checked addresses until its deadline."""

    policy: FetchPolicy
    resolver: Resolver
    deadline: Deadline
    open_connections: list[HTTPConnection] = field(default_factory=list)
    open_sockets: list[socket.socket] = field(default_factory=list)

    def resolve(self, target: FetchTarget) -> tuple[str, ...]:
        """Return the addresses of a name if all of them may be connected to, else ()."""
        found: list[tuple[str, ...]] = []
        asking = threading.Thread(target=lambda: found.append(self.resolver(target.host, target.port)), daemon=True)
        asking.start()
        asking.join(self.deadline.left())
        addresses = found[0] if found else ()
        if target.is_internal:  # the operator trusts the host, but not with this machine's credentials
            return () if find_link_local(addresses) else addresses
        return find_public(addresses)

    def ask(
        self,
        target: FetchTarget,
        method: str = "GET",
        headers: Mapping[str, str] = HEADERS,
        body: bytes | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Send one request and return its unread answer; follows no redirect, raises `SourceError`."""
        addresses = self.resolve(target)
        if not addresses:
            raise unreachable(target)
        connection = self._connection(target, addresses)
        try:
            connection.request(
                method, target.path, body=body, headers=headers, preload_content=False, decode_content=False
            )
            return connection.getresponse()
        except ssl.SSLCertVerificationError:
            raise SourceError(f"the certificate of {target.host} is not trusted") from None
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise unreachable(target) from None

    def open_socket(self, target: FetchTarget) -> socket.socket:
        """Connect to a checked address and return the socket, which is closed at the deadline; raises `SourceError`."""
        addresses = self.resolve(target)
        if not addresses:
            raise unreachable(target)
        try:
            opened = _connect_pinned(addresses, target.port, self.deadline.left())
        except OSError:
            raise unreachable(target) from None
        self.open_sockets.append(opened)
        return opened

    def _connection(self, target: FetchTarget, addresses: tuple[str, ...]) -> HTTPConnection:
        seconds = self.deadline.left()
        connection: HTTPConnection
        if target.scheme == "https":
            context = ssl.create_default_context()
            if self.policy.ca_file:
                context.load_verify_locations(self.policy.ca_file)
            secure = _PinnedHTTPSConnection(target.host, target.port, timeout=seconds, ssl_context=context)
            secure.pinned = addresses
            connection = secure
        else:
            plain = _PinnedHTTPConnection(target.host, target.port, timeout=seconds)
            plain.pinned = addresses
            connection = plain
        self.open_connections.append(connection)
        return connection

    def close(self) -> None:
        """Close every connection, even while it waits."""
        for connection in self.open_connections:
            sock = connection.sock
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
            connection.close()
        for opened in self.open_sockets:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)


def join_address(base: str, reference: str) -> str:
    """Return where a redirect or an index leads from an address; raises `SourceError` for what is no address."""
    try:
        return urljoin(base, reference)
    except ValueError:
        raise SourceError(f"{urlsplit(base).hostname} leads to an address that cannot be read") from None


class NoAnswerError(SourceError):
    """The one failure of every connection: closed, refused, slow and forbidden look alike."""


def unreachable(target: FetchTarget) -> NoAnswerError:
    """Return the failure of a connection that was to fetch something."""
    return NoAnswerError(f"nothing could be fetched from {target.host}")


@contextmanager
def connecting(
    policy: FetchPolicy, resolver: Resolver, *, sleep: Callable[[float], None], clock: Callable[[], float]
) -> Iterator[PinnedClient]:
    """Open a client until its deadline, and close all its connections in the end.

    - A `SourceError` leaves no earlier than `policy.failure_seconds` after the start.
    """
    started = clock()
    client = PinnedClient(policy, resolver, Deadline(started + policy.total_seconds, clock))
    # Reading headers byte by byte never triggers a socket timeout, so the connection is closed at the deadline.
    watchdog = threading.Timer(policy.total_seconds, client.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield client
    except SourceError:
        sleep(max(started + policy.failure_seconds - clock(), 0.0))
        raise
    finally:
        watchdog.cancel()
        client.close()
