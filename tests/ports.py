"""Ports for servers that cannot choose one by themselves: each is kept for the life of the process that asked.

Asking the system for a port and letting it go invites somebody else to take it before the server does. These ports lie
below those that the system gives to outgoing connections, and a lock on a file keeps each from every other test.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

_PORTS = range(17_000, 32_000)
_TRIES = 2_000
_kept: list[int] = []


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _keep(folder: Path, port: int) -> bool:
    handle = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    if not _is_free(port):
        os.close(handle)
        return False
    _kept.append(handle)  # the lock ends with this process
    return True


def free_port() -> int:
    """A port of loopback that nobody listens on, and that no other test gets while this process lives."""
    folder = Path(tempfile.gettempdir()) / f"applyviz-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    dice = random.Random()
    for _ in range(_TRIES):
        port = dice.choice(_PORTS)
        if _keep(folder, port):
            return port
    raise AssertionError(f"no free port among {_PORTS}")
