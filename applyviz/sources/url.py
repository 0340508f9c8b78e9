"""Fetch a URL on the server without giving anyone access to the internal network.

Each hop (the link and at most three redirects) is checked separately: https on port 443, or a host that the operator
allows by name; the name is resolved once, every address must be public, and the connection goes to exactly that address
with the name kept for TLS and Host. No credentials, no proxies, no compression; size and time are limited. Failures
look the same whether an address is closed, refused, slow or forbidden.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.addresses import find_link_local, find_public
from applyviz.sources.bundle import BundledFile

Resolver: TypeAlias = Callable[[str, int], tuple[str, ...]]

_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]+\])\Z")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_CHUNK = 64 * 1024
_HEADERS = {"Accept-Encoding": "identity", "Accept": "*/*", "User-Agent": "applyviz"}


def resolve_name(host: str, port: int) -> tuple[str, ...]:
    """Resolve a name with the system's resolver, once; return () if there is no answer."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class FetchPolicy:
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


@dataclass(frozen=True, slots=True)
class _Target:
    url: str
    scheme: str
    host: str
    port: int
    path: str
    is_internal: bool


@dataclass(slots=True)
class _Deadline:
    ends: float
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float:
        return max(self.ends - self.clock(), 0.001)

    @property
    def is_over(self) -> bool:
        return self.clock() >= self.ends


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    port = parts.port if parts.port is not None else {"http": 80}.get(parts.scheme, 443)
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def _read_target(url: str, policy: FetchPolicy) -> _Target:
    """Parse a URL strictly; raises `SourceError` with a reason that a person can act on."""
    if _UNSAFE.search(url) or len(url) > 4096:
        raise SourceError("the link holds spaces, control characters or backslashes, or is too long")
    try:
        parts = urlsplit(url)
        scheme, host, port = _origin(parts)
    except ValueError:
        raise SourceError("this is not a link") from None
    if parts.username is not None or "@" in parts.netloc:
        raise SourceError("a link with a user name or password is not fetched")
    bare = parts.netloc.rsplit(":", 1)[0] if parts.port is not None else parts.netloc.removesuffix(":")
    if not _HOST.match(bare):
        raise SourceError("the host of the link is not written as a plain name or address")
    is_internal = (scheme, host, port) in {_origin(urlsplit(origin)) for origin in policy.internal}
    if not is_internal and scheme != "https":
        raise SourceError("only https links are fetched")
    if not is_internal and port != 443:
        raise SourceError("only links to port 443 are fetched")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(parts._replace(fragment="").geturl(), scheme, host, port, path, is_internal)


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
class _Fetcher:
    policy: FetchPolicy
    resolver: Resolver
    deadline: _Deadline
    open_connections: list[HTTPConnection] = field(default_factory=list)

    def fetch(self, url: str) -> tuple[str, str, bytes]:
        """Return final URL, content type and bytes."""
        target = _read_target(url, self.policy)
        for _ in range(self.policy.max_redirects + 1):
            response = self._ask(target)
            try:
                if response.status not in _REDIRECTS:
                    return target.url, self._check(target, response), self._read(target, response)
                location = response.headers.get("Location", "")
            finally:
                response.close()
            target = _read_target(urljoin(target.url, location), self.policy)
        raise SourceError(f"the link is redirected more than {self.policy.max_redirects} times")

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send once and return the status; the body of the answer is not read."""
        target = _read_target(url, self.policy)
        response = self._ask(target, "POST", {**headers, "Accept-Encoding": "identity"}, body)
        response.close()
        return response.status

    def _resolve(self, target: _Target) -> tuple[str, ...]:
        found: list[tuple[str, ...]] = []
        asking = threading.Thread(target=lambda: found.append(self.resolver(target.host, target.port)), daemon=True)
        asking.start()
        asking.join(self.deadline.left())
        addresses = found[0] if found else ()
        if target.is_internal:  # the operator trusts the host, but not with this machine's credentials
            return () if find_link_local(addresses) else addresses
        return find_public(addresses)

    def _ask(
        self,
        target: _Target,
        method: str = "GET",
        headers: Mapping[str, str] = MappingProxyType(_HEADERS),
        body: bytes | None = None,
    ) -> urllib3.BaseHTTPResponse:
        addresses = self._resolve(target)
        if not addresses:
            raise _unreachable(target)
        connection = self._connection(target, addresses)
        try:
            connection.request(
                method, target.path, body=body, headers=headers, preload_content=False, decode_content=False
            )
            return connection.getresponse()
        except ssl.SSLCertVerificationError:
            raise SourceError(f"the certificate of {target.host} is not trusted") from None
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise _unreachable(target) from None

    def _connection(self, target: _Target, addresses: tuple[str, ...]) -> HTTPConnection:
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

    def _check(self, target: _Target, response: urllib3.BaseHTTPResponse) -> str:
        if response.status != 200:
            raise SourceError(f"{target.host} answered {response.status}")
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise SourceError(f"{target.host} answered with compressed content, which is not read")
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and int(length[:20]) > self.policy.max_bytes:
            raise self._too_large()
        return response.headers.get("Content-Type", "")

    def _too_large(self) -> SourceError:
        return SourceError(f"what the link gives is larger than {self.policy.max_bytes:,} bytes")

    def _read(self, target: _Target, response: urllib3.BaseHTTPResponse) -> bytes:
        data = bytearray()
        try:
            while chunk := response.read(_CHUNK, decode_content=False):
                data += chunk
                if len(data) > self.policy.max_bytes:
                    raise self._too_large()
                if self.deadline.is_over:
                    raise _unreachable(target)
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError):
            raise _unreachable(target) from None
        return bytes(data)

    def close(self) -> None:
        """Close every connection, even while it waits."""
        for connection in self.open_connections:
            sock = connection.sock
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
            connection.close()


def _unreachable(target: _Target) -> SourceError:
    return SourceError(f"nothing could be fetched from {target.host}")


def _name_of(url: str) -> str:
    parts = urlsplit(url)
    name = parts.path.rsplit("/", 1)[-1]
    return name or f"{parts.hostname}.yaml"


def fetch(
    url: str,
    *,
    policy: FetchPolicy,
    now: str,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> BundledFile:
    """Fetch one link and freeze its content; raises `SourceError`.

    - `now` is the time of fetching for the provenance, as text.
    - A failure is raised no earlier than `policy.failure_seconds` after the start.
    """
    started = clock()
    fetcher = _Fetcher(policy, resolver, _Deadline(started + policy.total_seconds, clock))
    # Reading headers byte by byte never triggers a socket timeout, so the connection is closed at the deadline.
    watchdog = threading.Timer(policy.total_seconds, fetcher.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        final_url, content_type, data = fetcher.fetch(url)
    except SourceError:
        sleep(max(started + policy.failure_seconds - clock(), 0.0))
        raise
    finally:
        watchdog.cancel()
        fetcher.close()
    provenance = {"url": url, "final_url": final_url, "fetched_at": now, "content_type": content_type}
    return BundledFile(_name_of(final_url), data, provenance)


def check(url: str, *, policy: FetchPolicy) -> None:
    """Parse a URL strictly, without network access; raises `SourceError` with a reason that a person can act on."""
    _read_target(url, policy)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    policy: FetchPolicy,
    resolver: Resolver = resolve_name,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Send bytes to an allowed address; return the status of the answer, raise `SourceError`.

    - No redirect is followed, and the body of the answer is not read.
    - A failure is raised no earlier than `policy.failure_seconds` after the start.
    """
    started = clock()
    fetcher = _Fetcher(policy, resolver, _Deadline(started + policy.total_seconds, clock))
    watchdog = threading.Timer(policy.total_seconds, fetcher.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        return fetcher.post(url, body, headers)
    except SourceError:
        sleep(max(started + policy.failure_seconds - clock(), 0.0))
        raise
    finally:
        watchdog.cancel()
        fetcher.close()
