"""Run a module of ours in a disposable child process with limits, so that hostile bytes kill only the child.

Safe from any thread: this process is never forked. The child gets no environment and no files; `fork_server` starts it.
"""

from __future__ import annotations

import math
import resource
import signal
import sys
import time

import msgspec
from msgspec import Struct

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.fork_server import NOT_STARTED, SERVERS

_decode_row = msgspec.json.Decoder(dict[str, str]).decode
ERROR_ROW = frozenset(("error",))
"""The row of a child that says why it has no answer."""


class ChildLimits(Struct, frozen=True):
    """The resource limits of one child, and the number of broken files after which the rest is refused."""

    memory_bytes: int = 512 * 1024 * 1024
    cpu_seconds: int = 20
    wall_seconds: float = 30.0
    answer_bytes: int = 96 * 1024 * 1024
    broken_files: int = 5


def _limit_memory(memory_bytes: int) -> None:
    """Limit the address space; macOS refuses that, and there the limits of time and output remain."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    except (OSError, ValueError):
        if sys.platform != "darwin":
            raise


def limit_self(memory_bytes: int, cpu_seconds: int) -> None:
    """Set hard limits on this process: memory, processor time from now on, and no written files."""
    _limit_memory(memory_bytes)
    end = math.ceil(time.process_time()) + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _explain_end(code: int | None, limits: ChildLimits, act: str) -> str:
    if code is None:
        return f"{act} it took longer than {limits.wall_seconds:g} seconds"
    if code == NOT_STARTED:
        return f"{act} it failed: its process did not start"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"{act} it took longer than {limits.cpu_seconds} seconds of computing"
    return f"{act} it needs more memory or a deeper stack than is allowed"


def prepare_child(module: str) -> None:
    """Start to load a module of children before the first question; return at once."""
    SERVERS.find(module).start()


def ask_child(module: str, message: bytes, limits: ChildLimits, *, act: str = "reading") -> tuple[bytes, str]:
    """Return the answer of a module's `main` to a message, and why it ended early ("" if it did not).

    - `act` names its work in the reason.
    """
    answer, code = SERVERS.find(module).ask(message, limits.wall_seconds)
    return answer, "" if code == 0 else _explain_end(code, limits, act)


def read_row(line: bytes, *rows: frozenset[str]) -> dict[str, str]:
    """Return the texts that a child answered by their names; raises `SourceError` unless they are those of a row.

    - Bytes that take over a child write its answer, so it is checked like any input.
    """
    try:
        row = _decode_row(line)
    except (msgspec.DecodeError, UnicodeError):
        row = {}
    if frozenset(row) not in rows:
        raise SourceError("the process that reads it gave no valid answer")
    return row
