"""Run one job in new namespaces, on Linux, with limits on time and output; or say why that is impossible.

The child (`inside`) starts the program only after every step of its isolation succeeded, so that there is no way to run
one without.
"""

from __future__ import annotations

import functools
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources.fork_server import list_search_path
from applyviz.sources.rendering.inside import FAILED, MARK
from applyviz.sources.rendering.job import (
    DEFAULT_LIMITS,
    HELM,
    Rendered,
    RenderJob,
    RenderLimits,
    write_job,
)

INSIDE = "applyviz.sources.rendering.inside"
# Without `site` the start is faster; the child needs only the parent's search path.
_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "from {module} import main;main(sys.stdin.buffer,sys.stdout.buffer)"
)
_READ_BYTES = 64 * 1024
_MOST_ERRORS = 256 * 1024
# What programs need that are linked to libraries of the system.
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
ENVIRONMENT = {
    "HOME": "/home",
    "TMPDIR": "/tmp",  # noqa: S108 - in the new file system
    "PATH": "/nonexistent",
    "LANG": "C",
    "KUBECONFIG": "/dev/null",
    "GOMAXPROCS": "2",
    "GOMEMLIMIT": "512MiB",
    "HELM_PLUGINS": "/nonexistent",
    "HELM_NO_PLUGINS": "1",
    "HELM_CACHE_HOME": "/home/cache",
    "HELM_CONFIG_HOME": "/home/config",
    "HELM_DATA_HOME": "/home/data",
}
NOT_POSSIBLE = (
    "rendering runs only in isolation, and this machine does not allow that ({reason}): upload the rendered manifests, "
    "or let a renderer service render (APPLYVIZ_RENDERER_SOCKET)"
)


def start_program(module: str) -> subprocess.Popen[bytes]:
    """Start the child that becomes a program, in a session of its own; its errors are read."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
        [sys.executable, "-I", "-S", "-c", _START.format(module=module), json.dumps(list_search_path())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"LANG": "C.UTF-8"},
        cwd="/",
        close_fds=True,
        start_new_session=True,
    )


def _feed(process: subprocess.Popen[bytes], message: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    with suppress(BrokenPipeError, ValueError):
        process.stdin.write(message)
        process.stdin.close()


def _read_output(process: subprocess.Popen[bytes], limits: RenderLimits) -> tuple[bytes, bytes]:
    """Return both outputs of the program; raises `SourceError` at a limit."""
    ends = time.monotonic() + limits.seconds
    found = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        for stream, name in ((process.stdout, "out"), (process.stderr, "err")):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ, name)
        while waiting.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise SourceError(f"rendering took longer than {limits.seconds:g} seconds")
            for key, _ in waiting.select(left):
                chunk = os.read(key.fd, _READ_BYTES)
                if not chunk:
                    waiting.unregister(key.fileobj)
                found[key.data] += chunk
                if len(found["out"]) > limits.output_bytes or len(found["err"]) > _MOST_ERRORS:
                    raise SourceError(f"the rendered manifests are larger than {limits.output_bytes:,} bytes")
    return bytes(found["out"]), bytes(found["err"])


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def talk(process: subprocess.Popen[bytes], message: bytes, limits: RenderLimits) -> Rendered:
    """Send a message to a child and return what its program printed; nothing of it runs afterwards."""
    feeding = threading.Thread(target=_feed, args=(process, message), daemon=True)
    feeding.start()
    try:
        output, errors = _read_output(process, limits)
        code = process.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        raise SourceError(f"rendering took longer than {limits.seconds:g} seconds") from None
    finally:
        _end(process)
        feeding.join()
    return Rendered(code if code < 128 else 128 - code, output, errors.decode("utf-8", "replace"))


def list_libraries(path: str) -> list[str]:
    """Return the folders that a program needs beside itself: none for one that is linked statically, as Go links."""
    with Path(path).open("rb") as file:
        head = file.read(64 * 1024)
    if b"/ld-linux" not in head and b"/ld-musl" not in head:
        return []
    return [folder for folder in _LIBRARIES if Path(folder).is_dir()]


def explain_end(found: Rendered, job: RenderJob, limits: RenderLimits) -> Rendered:
    """Return what was printed; raises `SourceError` if a limit ended the program."""
    if found.code in (-signal.SIGKILL, -signal.SIGXCPU):
        raise SourceError(f"{job.program} took longer than {limits.cpu_seconds} seconds of computing")
    if found.code and ("out of memory" in found.errors or "cannot allocate memory" in found.errors):
        raise SourceError(f"{job.program} needed more than {limits.memory_bytes // 1024**2:,} MiB of memory")
    if found.code and "no space left on device" in found.errors:
        raise SourceError(f"{job.program} wrote more than {limits.disk_bytes // 1024**2:,} MiB")
    return found


def add_verb(job: RenderJob, command: Sequence[str]) -> RenderJob:
    """Return a job with the words of a command before its own."""
    return replace(job, arguments=(*command[1:], *job.arguments))


def _message(job: RenderJob, path: str, limits: RenderLimits, *, is_probe: bool = False) -> bytes:
    return write_job(
        job,
        path=path,
        shown=list_libraries(path) if path else [],
        limits=asdict(limits),
        environment=ENVIRONMENT,
        is_probe=is_probe,
    )


def _read_failure(found: Rendered) -> str:
    """Return why the isolation failed, "" if it did not."""
    line = found.last_error
    return line.removeprefix(MARK) if found.code == FAILED and line.startswith(MARK) else ""


@functools.cache
def find_obstacle() -> str:
    """Return why this machine isolates nothing, "" if it does; tried once, by doing all of it without a program."""
    if sys.platform != "linux":
        return "only Linux has namespaces"
    probe = RenderJob(HELM, (), ())
    found = talk(start_program(INSIDE), _message(probe, "", DEFAULT_LIMITS, is_probe=True), DEFAULT_LIMITS)
    return _read_failure(found) or ("" if found.code == 0 else found.last_error)


def run_isolated(job: RenderJob, command: Sequence[str], limits: RenderLimits = DEFAULT_LIMITS) -> Rendered:
    """Run a command in new namespaces; raises `SourceError` at a limit or without isolation.

    - `command`: the path of the program, and the words before the arguments of the job.
    """
    found = talk(start_program(INSIDE), _message(add_verb(job, command), command[0], limits), limits)
    failure = _read_failure(found)
    if failure:
        raise SourceError(NOT_POSSIBLE.format(reason=failure))
    return explain_end(found, job, limits)
