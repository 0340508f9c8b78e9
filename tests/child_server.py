"""Reading children for tests, forked from one process that has loaded their modules.

A test that creates a plan reads its manifests in a disposable child, and starting an interpreter for each costs more
than many a test. Here the same modules run in the same way, with the same limits, in forks. Tests of the children
themselves start real ones (`real_children`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from importlib import import_module
from select import select

from applyviz.sources import child

_NAME_BYTES = 256
_NUMBER = struct.Struct("!q")
_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);from tests.child_server import serve;serve(int(sys.argv[2]))"
)


def serve(number: int) -> None:
    """Fork a child for each request on a socket: the name of its module, with its input, output and status."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=number)
    while True:
        name, files, _flags, _address = socket.recv_fds(requests, _NAME_BYTES, 3)
        if not name:
            return
        module = import_module(name.decode().strip())
        getattr(module, "load", lambda: None)()
        if os.fork() == 0:
            requests.close()
            _watch(module.main, *files)
        for file in files:
            os.close(file)


def _watch(main: object, source: int, target: int, status: int) -> None:
    """Fork the child, report its number and then its status, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _work(main, source, target)
    os.close(source)
    os.close(target)
    os.write(status, _NUMBER.pack(pid))
    os.write(status, _NUMBER.pack(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _work(main: object, source: int, target: int) -> None:
    code = 1
    try:
        with os.fdopen(source, "rb") as given, os.fdopen(target, "wb") as answer:
            main(given, answer)  # type: ignore[operator]  # every child has one
        code = 0
    finally:
        os._exit(code)


class ForkedChild:
    """What `subprocess.Popen` offers of a child, as far as `ask_child` uses it."""

    def __init__(self, source: int, target: int, status: int) -> None:
        self.returncode: int | None = None
        self._source, self._target, self._status = source, target, status
        self._answer: list[bytes] = []

    def communicate(self, message: bytes | None = None, timeout: float | None = None) -> tuple[bytes, None]:
        """Send a message, and return everything that the child answers until it ends."""
        until = None if timeout is None else time.monotonic() + timeout
        if message is not None:
            threading.Thread(target=self._send, args=(message,), daemon=True).start()
        while select([self._target], [], [], None if until is None else max(0.0, until - time.monotonic()))[0]:
            if not (part := os.read(self._target, 1 << 20)):
                return self._end()
            self._answer.append(part)
        raise subprocess.TimeoutExpired("child", timeout or 0.0)

    def kill(self) -> None:
        """End the child at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _send(self, message: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(self._source, "wb") as target:
            target.write(message)

    def _end(self) -> tuple[bytes, None]:
        (status,) = _NUMBER.unpack(os.read(self._status, _NUMBER.size))
        self.returncode = os.waitstatus_to_exitcode(status)
        os.close(self._target)
        os.close(self._status)
        return b"".join(self._answer), None

    def take_pid(self) -> ForkedChild:
        """Wait for the number of the child."""
        (self.pid,) = _NUMBER.unpack(os.read(self._status, _NUMBER.size))
        return self


class ChildServers:
    """One server for each module of children, so that none has more in memory than a child that is started anew."""

    def __init__(self) -> None:
        self._servers: dict[str, ChildServer] = {}

    def start(self, module: str) -> ForkedChild:
        """Start a child that runs the `main` of a module."""
        return self._servers.setdefault(module, ChildServer()).start(module)

    def close(self) -> None:
        """End all servers."""
        for server in self._servers.values():
            server.close()


class ChildServer:
    """The process that forks children; it starts with the first one, and ends with this process."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, module: str) -> ForkedChild:
        """Start a child that runs the `main` of a module."""
        (given, source), (target, answer), (status, result) = os.pipe(), os.pipe(), os.pipe()
        with self._lock:
            requests = self._requests or self._launch()
            socket.send_fds(requests, [module.encode().ljust(_NAME_BYTES)], [given, answer, result])
        for file in (given, answer, result):
            os.close(file)
        return ForkedChild(source, target, status).take_pid()

    def close(self) -> None:
        """End the process."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait()

    def _launch(self) -> socket.socket:
        self._requests, theirs = socket.socketpair()
        search = [path for path in (child._PRODUCT_ROOT, *sys.path) if path]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, json.dumps(search), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8"},
                cwd="/",
                pass_fds=[theirs.fileno()],
            )
        return self._requests
