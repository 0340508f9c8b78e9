"""The renderer service: runs jobs from a Unix socket, each isolated, and nothing else.

    python -m applyviz.sources.rendering.service SOCKET            # serves
    python -m applyviz.sources.rendering.service SOCKET --check    # asks it how it isolates; exit 1 if it does not

It holds no secret, opens no database and reads no settings. Where namespaces are allowed, each job has its own; in a
container without them, the container without network is the isolation (`contained`).
"""

from __future__ import annotations

import os
import signal
import socketserver
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering import contained, isolation
from applyviz.sources.rendering.choose import find_command
from applyviz.sources.rendering.client import check_renderer
from applyviz.sources.rendering.job import Rendered, RenderJob, RenderLimits, read_job, write_message

NAMESPACES, CONTAINER = "namespaces", "container"
_AT_ONCE = 2
_CHECK = b'{"check": true}\n'
_SECONDS = 60.0
Run = Callable[[RenderJob, Sequence[str], RenderLimits], Rendered]


class Renderer:
    """Runs jobs as this process can isolate them."""

    def __init__(self) -> None:
        """Find out how, once."""
        has_namespaces = not isolation.find_obstacle()
        self.mode = NAMESPACES if has_namespaces else CONTAINER
        self._run: Run = isolation.run_isolated if has_namespaces else contained.run_contained
        self._turns = threading.Semaphore(_AT_ONCE if has_namespaces else 1)
        if not has_namespaces:
            contained.adopt_orphans()

    def check(self) -> bytes:
        """Answer how jobs are isolated, or why they are refused."""
        if self.mode == CONTAINER and contained.has_network():
            return write_message({"refused": contained.HAS_NETWORK}, ())
        return write_message({"mode": self.mode}, ())

    def answer(self, source: BinaryIO) -> bytes:
        """Run one job and return the answer."""
        try:
            job, limits = read_job(source)
            command = find_command(job.program)
            with self._turns:
                found = self._run(job, command, limits)
        except (SourceError, TypeError, ValueError) as error:
            return write_message({"refused": str(error)}, ())
        # They are bounded where they are read. Cut here, they might begin in the middle of a credential.
        header = {"code": found.code, "errors": found.errors, "size": len(found.output)}
        return write_message(header, (found.output,))


class _Handler(socketserver.StreamRequestHandler):
    timeout = _SECONDS

    def handle(self) -> None:
        """Answer one message."""
        renderer = cast(_Server, self.server).renderer
        source = cast(BinaryIO, self.rfile)
        with suppress(OSError):  # a client that went away needs no answer
            is_check = self.rfile.peek(len(_CHECK)).startswith(_CHECK)  # type: ignore[attr-defined]
            self.wfile.write(renderer.check() if is_check else renderer.answer(source))


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    renderer: Renderer


def _stop(*_: object) -> None:
    raise SystemExit(0)


def serve(path: str) -> None:
    """Serve at a socket until SIGTERM."""
    with suppress(FileNotFoundError):
        Path(path).unlink()
    signal.signal(signal.SIGTERM, _stop)
    os.umask(0o077)
    renderer = Renderer()
    with _Server(path, _Handler) as server:
        server.renderer = renderer
        server.serve_forever()


def main(words: list[str]) -> int:
    """Serve, or check; return the exit status."""
    if words[1:] == ["--check"]:
        try:
            print(check_renderer(words[0]))  # noqa: T201 - the answer of this command
        except SourceError as error:
            print(error, file=sys.stderr)  # noqa: T201 - the answer of this command
            return 1
        return 0
    try:
        serve(words[0])
    except OSError as error:  # its folder is missing, or belongs to somebody else
        print(f"the socket {words[0]} cannot be used: {error}", file=sys.stderr)  # noqa: T201 - why it ends
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
