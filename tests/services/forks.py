"""Scripts inside an installation, each in a fork of one process that has loaded the product, which takes two seconds.

Each script is a separate process with its own database connection. The caller starts a client with `subprocess.Popen`;
the client passes its input and output to the script and exits with the same status.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
START_SECONDS, STOP_SECONDS = 120.0, 20.0
MANAGE = """
import sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""
_MESSAGE_BYTES = 1 << 17
_SERVE = "import sys; from tests.services.forks import serve; serve(sys.argv[1])"
_ASK = """
import json, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(sys.argv[1])
    socket.send_fds(server, [json.dumps(sys.argv[2:]).encode()], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


class Forks:
    """The process that forks, with the environment of an installation; it ends with `close`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._place = folder / "forks"
        self._server = subprocess.Popen([sys.executable, "-c", _SERVE, str(self._place)], env=environment, cwd=ROOT)
        deadline = time.monotonic() + START_SECONDS
        while not self._place.exists():
            assert self._server.poll() is None, f"it ended with {self._server.returncode}"
            assert time.monotonic() < deadline, f"it did not listen in {START_SECONDS:g} seconds"
            time.sleep(0.05)

    def command(self, code: str, *words: str) -> list[str]:
        """The command that runs a script, whose words are in its `sys.argv`."""
        return [sys.executable, "-I", "-S", "-c", _ASK, str(self._place), code, *words]

    def close(self) -> None:
        """End the process; scripts that it forked go on."""
        self._server.terminate()
        self._server.wait(STOP_SECONDS)


def serve(place: str) -> None:
    """Load the product, then fork a process for each script that a client sends to the socket at `place`."""
    import django  # noqa: PLC0415 - of this process alone

    django.setup()
    from django.urls import get_resolver  # noqa: PLC0415 - after it is set up

    assert get_resolver().url_patterns  # which the checks before a command load
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"{place}.new")
    listening.listen()
    Path(f"{place}.new").rename(place)
    while True:
        asked, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _work(asked)
        asked.close()


def _work(asked: socket.socket) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        message, files, _flags, _address = socket.recv_fds(asked, _MESSAGE_BYTES, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        code, *words = json.loads(message)
        sys.argv = ["-c", *words]
        exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.send(bytes([status]))
        os._exit(status)
