"""Enforce one deadline for a whole answer: status line, headers and body together.

A socket's own timeout restarts at every byte, so a server that sends a byte now and then could hold a request forever.
Here every read of an answer gets the time that remains for its request.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from applyviz.sources.addresses import find_link_local

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _WithDeadline(io.RawIOBase):
    """The reading end of a socket, with a deadline."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw, self._sock = raw, sock
        given = sock.gettimeout()
        self._until = None if given is None else time.monotonic() + given

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer took longer than the timeout of the request")
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer with a deadline for every read."""

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.fp = io.BufferedReader(_WithDeadline(self.fp.detach(), sock))


class _Plain(HTTPConnection):
    response_class = _Response


class _Secure(HTTPSConnection):
    response_class = _Response


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


class LinkLocalError(OSError):
    """The name of a server resolves to a link-local address: nothing was sent."""


class _Routed(_Secure):
    """A connection that refuses link-local addresses, whatever its name currently resolves to."""

    def _new_conn(self) -> socket.socket:
        with suppress(socket.gaierror):  # connecting reports the same error
            found = socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM)
            self._check(str(entry[4][0]) for entry in found)
        sock = super()._new_conn()
        try:  # the name was resolved twice, and may have two answers
            self._check([str(sock.getpeername()[0])])
        except (OSError, NewConnectionError):
            sock.close()
            raise
        return sock

    def _check(self, addresses: Iterable[str]) -> None:
        if find_link_local(addresses):
            raise NewConnectionError(self, "a link-local address") from LinkLocalError()


class _RoutedPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Routed


def install_deadline(pool: urllib3.PoolManager, *, is_routed: bool = False) -> None:
    """Give every answer of a pool one deadline: the read timeout of its request.

    - `is_routed`: refuse connections to link-local addresses.
    """
    secure = _RoutedPool if is_routed else _SecurePool
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": secure}
