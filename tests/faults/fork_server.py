"""A process that has loaded the product and runs named functions, in itself or in a fork.

A fork is a worker that can be killed, halted or traced from its first instruction and needs no time to start. Run as
`python -m tests.faults.fork_server SOCKET`; `Forge` is its client.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
START_SECONDS = 240


PATIENCE = 180


class ForgeError(AssertionError):
    """A function failed in the fork server; the text is its traceback."""


class ForgeStuckError(AssertionError):
    """The fork server does not respond; its standard error shows the stacks of its threads."""


class Forge:
    """The client: `call` runs a function in the fork server, `fork` in a process of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        address = str(folder / "forge.socket")
        with Listener(address, "AF_UNIX") as listener:
            self.process = subprocess.Popen([sys.executable, "-m", __name__, address], env=dict(environment), cwd=ROOT)
            self._line: Connection = listener.accept()

    def call(self, function: str, **given: Any) -> Any:
        """What `tests.faults.scenarios.<function>` gives."""
        return self._ask("call", function, given)

    def fork(self, function: str, *, is_halted: bool = False, **given: Any) -> int:
        """Start a function in a fork; gives its process id. `is_halted`: it waits for SIGCONT first."""
        return int(self._ask("fork", function, {**given, "is_halted": is_halted}))

    def wait(self, pid: int, *, seconds: float = 60) -> int:
        """Until a fork ends: its exit status, negative for a signal."""
        deadline = time.monotonic() + seconds
        while (status := self._ask("wait", "", {"pid": pid})) is None:
            assert time.monotonic() < deadline, f"process {pid} did not end in {seconds} seconds"
            time.sleep(0.01)
        return int(status)

    def close(self) -> None:
        """End the forge; forks that are left are not touched."""
        self._line.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _ask(self, verb: str, function: str, given: dict[str, Any]) -> Any:
        self._line.send((verb, function, given))
        if not self._line.poll(PATIENCE):
            self.process.send_signal(signal.SIGUSR1)
            raise ForgeStuckError(f"{verb} {function} has no answer after {PATIENCE} seconds")
        is_ok, result = self._line.recv()
        if not is_ok:
            raise ForgeError(result)
        return result


def _find(function: str) -> Any:
    return getattr(importlib.import_module("tests.faults.scenarios"), function)


def _fork(line: Connection, function: str, given: dict[str, Any]) -> int:
    from django.db import connections  # noqa: PLC0415 - Django is set up before

    connections.close_all()
    pid = os.fork()
    if pid:
        return pid
    line.close()
    status = 1
    try:
        if given.pop("is_halted"):
            os.kill(os.getpid(), signal.SIGSTOP)
        _find(function)(**given)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _wait(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def main(address: str) -> None:
    """Answer until the other end hangs up."""
    import django  # noqa: PLC0415 - set up here

    faulthandler.register(signal.SIGUSR1, all_threads=True)
    django.setup()
    importlib.import_module("tests.faults.scenarios")
    line = Client(address, "AF_UNIX")
    while True:
        try:
            verb, function, given = line.recv()
        except EOFError:
            return
        try:
            if verb == "fork":
                line.send((True, _fork(line, function, given)))
            elif verb == "wait":
                line.send((True, _wait(**given)))
            else:
                line.send((True, _find(function)(**given)))
        except Exception:
            line.send((False, traceback.format_exc()))


if __name__ == "__main__":
    main(sys.argv[1])
