"""The code of a fork server: load one module, then fork a child for each request. It reads nothing else.

Each child has a supervisor, which kills the child when the asking process closes the connection, and reports the exit
status of the child.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from select import select
from typing import BinaryIO

STARTED = b"s"
"""The first byte of a supervisor's report. After it comes a status of `os.waitpid`, packed by `STATUS`."""
STATUS = struct.Struct("!q")
_Main = Callable[[BinaryIO, BinaryIO], None]


def serve(module: str, descriptor: int, idle_seconds: float) -> None:
    """Fork a child for each request on a socket: its input, its output, and a socket for its supervisor."""
    signal.signal(signal.SIGCHLD, _reap)
    found = import_module(module)
    getattr(found, "load", lambda: None)()
    gc.freeze()  # the collector never visits what is loaded, so its pages stay shared
    with socket.socket(fileno=descriptor) as requests:
        requests.settimeout(idle_seconds)
        while True:
            try:
                asked, files, _flags, _address = socket.recv_fds(requests, 1, 3)
            except TimeoutError:
                return
            if not asked:
                return
            if os.fork() == 0:
                requests.close()
                _supervise(found.main, *files)
            _close(*files)


def _reap(*_: object) -> None:
    """Reap supervisors that have exited, so that their CPU time and that of their children is counted here."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _supervise(main: _Main, source: int, target: int, control: int) -> None:
    """Fork the child, kill it if the asking process closes the connection, and report its status."""
    try:
        with socket.socket(fileno=control) as asker:
            asker.sendall(STARTED)
            woken, waker = os.pipe()
            os.set_blocking(waker, False)
            signal.signal(signal.SIGCHLD, lambda *_: None)
            signal.set_wakeup_fd(waker)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                asker.close()
                _close(woken, waker)
                _work(main, source, target)
            _close(source, target)
            if asker.fileno() in select([woken, asker.fileno()], [], [])[0]:
                os.kill(pid, signal.SIGKILL)
            asker.sendall(STATUS.pack(os.waitpid(pid, 0)[1]))
    finally:
        os._exit(0)


def _work(main: _Main, source: int, target: int) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with os.fdopen(source, "rb") as given, os.fdopen(target, "wb") as answer:
            main(given, answer)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
