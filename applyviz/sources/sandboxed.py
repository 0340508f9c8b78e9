"""Parse a whole bundle in one disposable child process with limits; a bomb kills only the child.

Which file did it is known, because answers come one line per file: that file is refused with a plain
reason and the rest goes to a new child. Safe from any thread: nothing is forked with our memory in it.
"""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from applyviz.engine.manifests.documents import ParsedFile, Problem
from applyviz.engine.manifests.limits import DEFAULT_LIMITS, ReadLimits
from applyviz.engine.objects.errors import SourcePosition
from applyviz.sources.bundle import SourceBundle, SourceFile
from applyviz.sources.nuls import refuse_nuls
from applyviz.sources.wire import decode_file

# Without `site` the start is shorter; the parent's own search path is all that the child needs.
_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "from applyviz.sources.reading_child import main;main(sys.stdin.buffer,sys.stdout.buffer)"
)
_PRODUCT_ROOT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of one parsing process, and the number of broken files after which the rest is rejected."""

    memory_bytes: int = 512 * 1024 * 1024
    cpu_seconds: int = 20
    wall_seconds: float = 30.0
    answer_bytes: int = 96 * 1024 * 1024
    broken_files: int = 5


DEFAULT_CHILD_LIMITS = ChildLimits()


def _start_child() -> subprocess.Popen[bytes]:
    search = [path for path in (_PRODUCT_ROOT, *sys.path) if path]
    return subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
        [sys.executable, "-I", "-S", "-c", _START, json.dumps(search)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LANG": "C.UTF-8"},
        cwd="/",
        close_fds=True,
    )


def _explain_end(code: int | None, limits: ChildLimits) -> str:
    if code is None:
        return f"reading it took longer than {limits.wall_seconds:g} seconds"
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        return f"reading it took longer than {limits.cpu_seconds} seconds of computing"
    return "reading it needs more memory or a deeper stack than is allowed"


def _ask_child(files: Sequence[SourceFile], limits: ReadLimits, child_limits: ChildLimits) -> tuple[list[bytes], str]:
    """The lines of one child, and why it ended early ("" when it did not)."""
    header = {
        "memory_bytes": child_limits.memory_bytes,
        "cpu_seconds": child_limits.cpu_seconds,
        "answer_bytes": child_limits.answer_bytes,
        "limits": asdict(limits),
        "files": [(file.name, len(file.data)) for file in files],
    }
    message = json.dumps(header).encode() + b"\n" + b"".join(file.data for file in files)
    child = _start_child()
    try:
        answer, _ = child.communicate(message, timeout=child_limits.wall_seconds)
        code: int | None = child.returncode
    except subprocess.TimeoutExpired:
        child.kill()
        answer, _ = child.communicate()
        code = None
    lines = answer.split(b"\n")[:-1]
    return lines, "" if len(lines) >= len(files) else _explain_end(code, child_limits)


def _refuse(file: SourceFile, reason: str) -> ParsedFile:
    return ParsedFile(file.name, (), (Problem(reason, SourcePosition(file.name)),), 0)


@contextmanager
def _collector_paused() -> Iterator[None]:
    # Positions are many small lists that all stay: looking for garbage among them is most of the cost.
    # Two threads at once are harmless: whoever found the collector on turns it on again.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_bundle(
    bundle: SourceBundle,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
) -> tuple[ParsedFile, ...]:
    """Parse every file of a bundle outside this process; one `ParsedFile` per file, in order.

    - Never raises for what the bytes hold: a file that breaks its child is one named problem.
    """
    waiting = [file for file in bundle.files if len(file.data) <= limits.file_bytes]
    parsed: dict[str, ParsedFile] = {}
    broken = 0
    while waiting:
        lines, reason = _ask_child(waiting, limits, child_limits)
        with _collector_paused():
            for file, line in zip(waiting, lines, strict=False):
                found = decode_file(file.name, line)
                # As JSON a NUL is always spelled like this; most files are spared the search.
                parsed[file.name] = refuse_nuls(found) if b"\\u0000" in line else found
        waiting = waiting[len(lines) :]
        if not waiting:
            break
        parsed[waiting[0].name] = _refuse(waiting[0], reason)
        waiting = waiting[1:]
        broken += 1
        if broken >= child_limits.broken_files:
            reason = f"not read: {broken} other files of this source could not be read within the limits"
            parsed.update((file.name, _refuse(file, reason)) for file in waiting)
            break
    too_large = f"the file is larger than {limits.file_bytes:,} bytes"
    return tuple(parsed.get(file.name) or _refuse(file, too_large) for file in bundle.files)
