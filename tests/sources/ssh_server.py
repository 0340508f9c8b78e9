"""A server of git over ssh for tests: asyncssh accepts one deploy key, dulwich answers."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import asyncssh
from dulwich.protocol import Protocol
from dulwich.server import DictBackend, UploadPackHandler

from tests.sources.git_server import GitRepository


@dataclass
class SshServer:
    """A listening server; `seen` holds the commands that clients asked for, `users` who signed in."""

    port: int = 0
    host_key: asyncssh.SSHKey = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    seen: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)

    def url(self, path: str = "/team/shop.git") -> str:
        return f"ssh://git@localhost:{self.port}{path}"

    @property
    def origin(self) -> str:
        return f"ssh://localhost:{self.port}"

    @property
    def host_line(self) -> str:
        """The host key as `ssh-keyscan` prints it."""
        return f"[localhost]:{self.port} {self.host_key.export_public_key('openssh').decode().strip()}"


class _SignIn(asyncssh.SSHServer):
    def __init__(self, server: SshServer, allowed: str) -> None:
        self._server, self._allowed = server, asyncssh.import_public_key(allowed)

    def begin_auth(self, username: str) -> bool:
        self._server.users.append(username)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key.public_data == self._allowed.public_data


class _Pipe:
    """Blocking reads and writes of a thread on the streams of the loop."""

    def __init__(self, process, loop: asyncio.AbstractEventLoop) -> None:
        self._process, self._loop, self._rest = process, loop, b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            chunk = asyncio.run_coroutine_threadsafe(self._process.stdin.read(65536), self._loop).result(10)
            if not chunk:
                break
            self._rest += chunk
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def write(self, data: bytes) -> int:
        self._loop.call_soon_threadsafe(self._process.stdout.write, bytes(data))
        return len(data)


def _serve(process, repositories: Mapping[str, GitRepository], path: str, loop: asyncio.AbstractEventLoop) -> None:
    pipe = _Pipe(process, loop)
    backend = DictBackend({name: one.repo for name, one in repositories.items()})
    UploadPackHandler(backend, [path], Protocol(pipe.read, pipe.write)).handle()


@contextmanager
def serving_ssh(
    repositories: Mapping[str, GitRepository],
    public_key: str,
    *,
    answer: Callable[[str], bytes] = lambda _command: b"",
) -> Iterator[SshServer]:
    """Serve repositories by path; what `answer` returns for a command is written to the error output instead."""
    server = SshServer()
    loop = asyncio.new_event_loop()

    async def handle(process) -> None:
        server.seen.append(process.command or "")
        said = answer(process.command or "")
        path = shlex.split(process.command or "x")[-1]
        if said or path not in repositories:
            process.stderr.write(said or b"ERROR: Repository not found.\n")
            process.exit(1)
            return
        await loop.run_in_executor(None, _serve, process, repositories, path, loop)
        process.exit(0)

    async def start():
        return await asyncssh.create_server(
            lambda: _SignIn(server, public_key),
            "127.0.0.1",
            0,
            server_host_keys=[server.host_key],
            process_factory=handle,
            encoding=None,
        )

    async def end() -> None:
        listening.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    server.port = listening.get_port()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
