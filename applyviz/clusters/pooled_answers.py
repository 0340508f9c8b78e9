"""Answers as the standard library reads them, which the pool of urllib3 hands out as they are.

urllib3 wraps each answer once more, and the standard library parses headers as those of an email: together nearly half
of the processor time of a small request. What cuts an answer short, or is no header, is an error here.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from typing import TYPE_CHECKING

from urllib3.exceptions import ProtocolError, ReadTimeoutError, SSLError

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool
    from urllib3.connection import HTTPConnection

_LONGEST_LINE, _MOST_HEADERS = 65_536, 100


class _WithDeadline(io.RawIOBase):
    """The reading end of a socket, with a deadline."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw, self._sock = raw, sock
        given = sock.gettimeout()
        self._until = None if given is None else time.monotonic() + given

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]  # any buffer
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer took longer than the timeout of the request")
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class PooledAnswer(http.client.HTTPResponse):
    """One answer of a pooled connection; every read of it has the deadline of its request.

    - The pool sets `retries`, `_pool` and `_connection`, and logs the version and the length.
    """

    version_string = "HTTP/1.1"
    retries: object = None
    _pool: HTTPConnectionPool | None = None
    _connection: HTTPConnection | None = None

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.fp = io.BufferedReader(_WithDeadline(self.fp.detach(), sock))

    @property
    def length_remaining(self) -> int | None:
        """The bytes that are left of the body; None where the server does not say."""
        return self.length

    def begin(self) -> None:
        """Read the status line and the headers."""
        while True:
            version, status, reason = self._read_status()  # type: ignore[attr-defined]  # of the standard library
            self.headers = self.msg = self._read_headers()
            if status != http.client.CONTINUE:
                break
        if not version.startswith("HTTP/1."):
            raise http.client.UnknownProtocol(version)
        self.code = self.status = status
        self.reason, self.version = reason.strip(), 10 if version == "HTTP/1.0" else 11
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        length = self.headers.get("content-length", "")
        self.length = int(length) if length.isdecimal() and not self.chunked else None
        if status in (http.client.NO_CONTENT, http.client.NOT_MODIFIED) or status < http.client.OK:
            self.length = 0
        is_endless = not self.chunked and self.length is None
        self.will_close = is_endless or self._check_close()  # type: ignore[attr-defined]  # as above

    def _read_headers(self) -> http.client.HTTPMessage:
        found = http.client.HTTPMessage()
        for _ in range(_MOST_HEADERS + 1):
            line = self.fp.readline(_LONGEST_LINE + 1)
            if line in (b"\r\n", b"\n"):
                return found
            name, colon, value = line.decode("iso-8859-1").partition(":")
            if not line.endswith(b"\n") or not colon or not name or name[0] in " \t" or name[-1] in " \t":
                raise http.client.HTTPException("the headers of the answer were cut off, or hold a line that is none")
            found.set_raw(name, value.strip())
        raise http.client.HTTPException(f"the answer has more than {_MOST_HEADERS} headers")

    def read_part(self, most: int) -> bytes:
        """Return the next bytes of the body; b"" at its end.

        - Raises the errors of urllib3 when it is cut short or takes too long; its connection is closed then.
        """
        try:
            part = self.read1(most)
            if not part and self.length:
                raise http.client.IncompleteRead(b"", self.length)
        except TimeoutError as error:
            self.abort()
            raise ReadTimeoutError(self._pool, None, "Read timed out.") from error  # type: ignore[arg-type]  # no address
        except ssl.SSLError as error:
            self.abort()
            raise SSLError(error) from error
        except (http.client.HTTPException, OSError) as error:
            self.abort()
            raise ProtocolError(f"Connection broken: {error!r}", error) from error
        if not part:
            self.close()
        return part

    def abort(self) -> None:
        """Close the answer and its connection, on which more of it may arrive."""
        self.close()
        if self._connection is not None:
            self._connection.close()

    def release_conn(self) -> None:
        """Give the connection back to the pool, closed unless the answer was read to its end."""
        if not self.isclosed():
            self.abort()
        if self._pool is not None and self._connection is not None:
            self._pool._put_conn(self._connection)
            self._connection = None
