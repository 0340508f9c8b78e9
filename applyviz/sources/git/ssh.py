"""The git protocol over ssh, to checked addresses and with pinned host keys: asyncssh connects, dulwich speaks.

The socket comes from `pinned`, so names, addresses and the deadline follow the rules of links. Only the deploy key is
offered: no password, no agent, no configuration of the machine. The host must show a key that was registered before.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from io import BytesIO
from typing import IO, TypeVar

import asyncssh
from dulwich.client import TraditionalGitClient
from dulwich.protocol import Protocol

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git.addresses import user_of
from applyviz.sources.git.http import ByteMeter
from applyviz.sources.git.model import DeployKey, GitLimits
from applyviz.sources.pinned import FetchTarget, PinnedClient, unreachable

T = TypeVar("T")
_CHUNK, _MOST_STDERR, _ENDING = 64 * 1024, 4096, 1.0


class _HostCheck(asyncssh.SSHClient):
    """Refuses every host key that is not pinned, and remembers its fingerprint for the sentence."""

    def __init__(self) -> None:
        self.offered = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Return False: asyncssh asks only about keys that are not pinned."""
        del host, addr, port
        self.offered = str(key.get_fingerprint())
        return False


class _Loop:
    """An event loop in a thread of its own, because dulwich reads and writes synchronously."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._loop, self._seconds = asyncio.new_event_loop(), seconds
        self._thread = threading.Thread(target=self._loop.run_forever, name="git-ssh", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, None, T]) -> T:
        """Return the result of some work; raises `TimeoutError` at the deadline, when it is canceled."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, self._seconds()), self._loop).result()

    async def _end_all(self) -> None:
        """Cancel what still runs, and wait for its end."""
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), _ENDING)

    def close(self) -> None:
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result(2 * _ENDING)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_ENDING)
        if not self._thread.is_alive():
            self._loop.close()


class _Command:
    """One command on the host: exact reads, writes, and the beginning of its error output."""

    def __init__(
        self, loop: _Loop, connection: asyncssh.SSHClientConnection, target: FetchTarget, meter: ByteMeter
    ) -> None:
        self._loop, self._connection, self._target, self._meter = loop, connection, target, meter
        self._process: asyncssh.SSHClientProcess[bytes] | None = None
        self._rest = bytearray()

    async def _start(self, command: str) -> None:
        self._process = await self._connection.create_process(
            command, encoding=None, env={"GIT_PROTOCOL": "version=2"}, term_type=None
        )

    def start(self, command: str) -> None:
        self._try(self._start(command))

    def _try(self, work: Coroutine[object, None, T]) -> T:
        try:
            return self._loop.run(work)
        except (asyncssh.Error, OSError, TimeoutError, asyncio.CancelledError):
            raise unreachable(self._target) from None

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes, fewer at the end."""
        while len(self._rest) < size:
            chunk = self._try(self._read_some())
            if not chunk:
                break
            self._meter.take(len(chunk))
            self._rest += chunk
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    async def _read_some(self) -> bytes:
        return await self._opened.stdout.read(_CHUNK)

    @property
    def _opened(self) -> asyncssh.SSHClientProcess[bytes]:
        if self._process is None:
            raise unreachable(self._target)
        return self._process

    async def _write(self, data: bytes) -> None:
        self._opened.stdin.write(data)
        await self._opened.stdin.drain()

    def write(self, data: bytes) -> int:
        self._try(self._write(data))
        return len(data)

    async def _read_errors(self) -> bytes:
        return await self._opened.stderr.read(_MOST_STDERR)

    def read_errors(self) -> bytes:
        """Return the beginning of what the host wrote about an error."""
        return self._try(self._read_errors())


class _Errors(BytesIO):
    """The error output of a command, read when dulwich asks for it."""

    def __init__(self, command: _Command) -> None:
        super().__init__()
        self._command = command

    def readlines(self, hint: int | None = -1, /) -> list[bytes]:
        del hint
        return [line + b"\n" for line in self._command.read_errors().split(b"\n") if line]


class PinnedSshClient(TraditionalGitClient):
    """A client of one repository over ssh; `close` ends its connection."""

    def __init__(self, target: FetchTarget, client: PinnedClient, *, key: DeployKey, limits: GitLimits) -> None:
        """Prepare a client; nothing is sent yet."""
        super().__init__(quiet=True)
        self._target, self._client, self._key = target, client, key
        self._meter = ByteMeter(limits.pack_bytes, limits.pack_bytes)
        self._loop = _Loop(client.deadline.left)
        self._connection: asyncssh.SSHClientConnection | None = None

    async def _open(self, check: _HostCheck) -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            self._target.host,
            self._target.port,
            sock=self._client.open_socket(self._target),
            username=user_of(self._target.url),
            client_factory=lambda: check,
            client_keys=[asyncssh.import_private_key(self._key.private_key)],
            known_hosts=([asyncssh.import_public_key(line) for line in self._key.host_keys], [], []),
            config=None,
            agent_path=None,
            preferred_auth="publickey",
            compression_algs=None,
            login_timeout=self._client.deadline.left(),
        )

    def _sign_in(self) -> asyncssh.SSHClientConnection:
        check, host = _HostCheck(), self._target.host
        try:
            return self._loop.run(self._open(check))
        except asyncssh.HostKeyNotVerifiable:
            raise SourceError(self._describe_key(check.offered)) from None
        except asyncssh.PermissionDenied:
            raise SourceError(
                f"{host} refused the deploy key registered for {self._key.prefix}. Ask an administrator to check that"
                " its public half is registered there and may read the repository"
            ) from None
        except (asyncssh.Error, OSError, TimeoutError, asyncio.CancelledError):
            raise unreachable(self._target) from None

    def _describe_key(self, offered: str) -> str:
        shown = f"the key {offered}" if offered else "no key of a registered type"
        return (
            f"{self._target.host} identified itself with {shown}, which is not among the host keys registered for"
            f" {self._key.prefix}. Nothing was sent. If the host published a new key, an administrator registers it;"
            " otherwise somebody may stand between"
        )

    def _connect(
        self, cmd: bytes, path: str | bytes, protocol_version: int | None = None
    ) -> tuple[Protocol, Callable[[], bool], IO[bytes] | None]:
        """Start the command of the protocol; see `TraditionalGitClient`."""
        del path, protocol_version
        self._connection = self._sign_in()
        command = _Command(self._loop, self._connection, self._target, self._meter)
        command.start(f"git-{cmd.decode()} {shlex.quote(self._target.path)}")
        return Protocol(command.read, command.write), lambda: False, _Errors(command)

    def close(self) -> None:
        """End the connection and its thread."""
        if self._connection is not None:
            with suppress(TimeoutError, asyncssh.Error, OSError):
                self._loop.run(self._end(self._connection))
        self._loop.close()

    @staticmethod
    async def _end(connection: asyncssh.SSHClientConnection) -> None:
        connection.abort()
        await asyncio.wait_for(connection.wait_closed(), _ENDING)
