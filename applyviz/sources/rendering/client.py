"""Ask the renderer service to run a job, over its Unix socket."""

from __future__ import annotations

import socket
from contextlib import closing

from msgspec.structs import asdict

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering.job import (
    DEFAULT_LIMITS,
    Rendered,
    RenderJob,
    RenderLimits,
    read_exactly,
    read_line,
    write_job,
    write_message,
)

CHECK = write_message({"check": True}, ())
# While other jobs run, a job waits in the service.
_QUEUE_SECONDS = 60.0
_AWAY = "the renderer service does not answer: check that it runs, or upload the rendered manifests"


def _exchange(path: str, message: bytes, seconds: float) -> tuple[dict[str, object], bytes]:
    """Send a message and return the line and the bytes of the answer."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(seconds)
        connection.connect(path)
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as source:
            line = read_line(source)
            return line, read_exactly(source, line.get("size", 0))


def ask_renderer(path: str, job: RenderJob, limits: RenderLimits = DEFAULT_LIMITS) -> Rendered:
    """Return what a program printed; raises `SourceError` with the reason of the service."""
    try:
        line, output = _exchange(path, write_job(job, limits=asdict(limits)), _QUEUE_SECONDS + limits.seconds)
    except OSError:
        raise SourceError(_AWAY) from None
    if "refused" in line:
        raise SourceError(str(line["refused"]))
    code = line.get("code")
    return Rendered(code if isinstance(code, int) else 1, output, str(line.get("errors", "")))


def check_renderer(path: str) -> str:
    """Return how the service isolates its jobs; raises `SourceError` if it does not, or does not answer."""
    try:
        line, _ = _exchange(path, CHECK, 30.0)
    except OSError:
        raise SourceError(_AWAY) from None
    if "refused" in line:
        raise SourceError(str(line["refused"]))
    return str(line.get("mode", ""))
