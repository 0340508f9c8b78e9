"""Fork disposable children from a process that has already loaded their module, so that no question waits for imports.

Each module has its own fork server, so a child holds only what that module needs. A fork server has no environment, no
files and no settings of the installation, and it never reads a question. The effects of a question end with its child.
A fork server exits when its parent exits, or after five idle minutes. Its code is in `forking`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Lock
from typing import cast

from applyviz.sources.forking import STARTED, STATUS

IDLE_SECONDS = 300.0
"""An idle fork server exits after this time and frees its memory."""
NOT_STARTED = 126
"""The exit code of a child whose fork server cannot start, as of a command that a shell cannot start."""
_LOST = 1
_PIECE = 1 << 16
_START = (
    "import json,runpy,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "runpy.run_module('applyviz.sources.forking',run_name='__main__')"
)
_PRODUCT_ROOT = str(Path(__file__).resolve().parents[2])


def list_search_path() -> list[str]:
    """Return where a process of ours finds its modules."""
    return [path for path in (_PRODUCT_ROOT, *sys.path) if path]


@dataclass(slots=True)
class _Exchange:
    """One question to a child: the bytes to send, the answer received, and the report of the supervisor."""

    waiting: memoryview
    source: FileIO
    target: FileIO
    control: socket.socket
    answer: list[bytes] = field(default_factory=list)
    report: bytes = b""

    def run(self, until: float) -> None:
        """Send and receive until the child and its supervisor have exited, or the time is up."""
        os.set_blocking(self.source.fileno(), False)
        with DefaultSelector() as selector:
            selector.register(self.source, EVENT_WRITE, self._send)
            selector.register(self.target, EVENT_READ, self._receive)
            selector.register(self.control, EVENT_READ, self._hear)
            while selector.get_map() and (rest := until - time.monotonic()) > 0:
                for key, _events in selector.select(rest):
                    if key.data():
                        selector.unregister(key.fileobj)
                        cast("FileIO | socket.socket", key.fileobj).close()

    @property
    def has_started(self) -> bool:
        """Whether a fork server accepted the request."""
        return self.report.startswith(STARTED)

    @property
    def code(self) -> int | None:
        """The exit code of the child, as in `Popen.returncode`; None if no supervisor reported one."""
        status = self.report[len(STARTED) :]
        return os.waitstatus_to_exitcode(STATUS.unpack(status)[0]) if len(status) == STATUS.size else None

    def _send(self) -> bool:
        with suppress(BlockingIOError):
            try:
                self.waiting = self.waiting[os.write(self.source.fileno(), self.waiting[:_PIECE]) :]
            except BrokenPipeError:
                return True
        return not self.waiting

    def _receive(self) -> bool:
        part = os.read(self.target.fileno(), _PIECE)
        self.answer.append(part)
        return not part

    def _hear(self) -> bool:
        with suppress(ConnectionResetError):
            part = self.control.recv(STATUS.size + 1)
            self.report += part
            return not part
        return True


class ForkServer:
    """The process that forks the children of one module; the first question starts it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = Lock()
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process unless it is running; return before it has loaded its module."""
        with self._lock:
            self._connect()

    def ask(self, message: bytes, wall_seconds: float) -> tuple[bytes, int | None]:
        """Return the answer of a new child to a message, and its exit code: None if the child took too long.

        - If the fork server has exited, another one is started, once. `NOT_STARTED` if that fails too.
        - The code is 1 if the supervisor was killed.
        """
        until = time.monotonic() + wall_seconds
        exchange = self._exchange(message, until)
        if not exchange.has_started and time.monotonic() < until:
            exchange = self._exchange(message, until)
        code = exchange.code
        if code is None and time.monotonic() < until:
            code = _LOST if exchange.has_started else NOT_STARTED
        return b"".join(exchange.answer), code

    def close(self) -> None:
        """Stop the process. Children that are running finish their questions."""
        if (requests := self._requests) is not None:
            self._end(requests)

    def forget(self) -> None:
        """After a fork: close the copy of the connection. The parent process keeps the fork server."""
        if self._requests is not None:
            self._requests.close()

    def _exchange(self, message: bytes, until: float) -> _Exchange:
        (given, source), (target, answer), (control, report) = os.pipe(), os.pipe(), socket.socketpair()
        with FileIO(source, "w") as to_child, FileIO(target) as from_child, control:
            with report:
                asked = self._request((given, answer, report.fileno()))
            os.close(given)
            os.close(answer)
            exchange = _Exchange(memoryview(message), to_child, from_child, control)
            exchange.run(until)
        if not exchange.has_started:
            self._end(asked)
        return exchange

    def _request(self, files: tuple[int, int, int]) -> socket.socket:
        with self._lock:
            requests = self._connect()
            with suppress(BrokenPipeError, ConnectionResetError):  # it has exited: the report stays empty
                socket.send_fds(requests, [STARTED], files)
            return requests

    def _end(self, requests: socket.socket) -> None:
        with self._lock:
            if self._requests is not requests or self._process is None:
                return  # another thread stopped it
            requests.close()
            self._process.kill()  # it holds no question; supervisors control its children
            self._process.wait()
            self._requests = self._process = None

    def _connect(self) -> socket.socket:
        """Return the connection to a running process; start one if there is none, or if the last one has exited."""
        if self._requests is not None and self._process is not None and self._process.poll() is None:
            return self._requests
        if self._requests is not None:
            self._requests.close()
        return self._launch()

    def _launch(self) -> socket.socket:
        self._requests, theirs = socket.socketpair()
        given = json.dumps(list_search_path()), self._module, str(theirs.fileno()), str(IDLE_SECONDS)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
                [sys.executable, "-I", "-S", "-c", _START, *given],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8"},
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return self._requests


class ForkServers:
    """The fork servers of this process, by module."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._servers: dict[str, ForkServer] = {}

    def find(self, module: str) -> ForkServer:
        """Return the fork server of a module."""
        with self._lock:
            return self._servers.setdefault(module, ForkServer(module))

    def forget(self) -> None:
        """After a fork: drop the fork servers of the parent process, and the locks that its threads may hold."""
        for server in self._servers.values():
            server.forget()
        self._servers = {}
        self._lock = Lock()


SERVERS = ForkServers()
os.register_at_fork(after_in_child=SERVERS.forget)
