"""One rendering: the program, its arguments and its files; and its form on a pipe or a socket.

A message is one line of JSON, then the bytes whose lengths the line names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.objects.errors import SourceError

HELM, KUSTOMIZE = "helm", "kustomize"
MOST_LINE = 4 * 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024


class RenderLimits(Struct, frozen=True):
    """The limits of one rendering.

    - `disk_bytes`: of all files that the program sees and writes; `output_bytes`: of what it prints.
    - `processes` counts threads too; `seconds` is wall time.
    """

    seconds: float = 30.0
    cpu_seconds: int = 20
    memory_bytes: int = 1024 * 1024 * 1024
    disk_bytes: int = 96 * 1024 * 1024
    output_bytes: int = 20 * 1024 * 1024
    processes: int = 128


DEFAULT_LIMITS = RenderLimits()


@dataclass(frozen=True, slots=True)
class RenderJob:
    """A program by its name, its arguments, and the files of its tree by their relative paths."""

    program: str
    arguments: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rendered:
    """The output of a program; `code` is its exit status, negative for a signal."""

    code: int
    output: bytes = field(repr=False)
    errors: str

    @property
    def last_error(self) -> str:
        """The last line of its errors, which names the cause."""
        lines = [line for line in self.errors.strip().splitlines() if line.strip()]
        return (lines or ["no reason given"])[-1].strip()[:600]


def write_message(header: Mapping[str, object], parts: tuple[bytes, ...]) -> bytes:
    """Return a message."""
    return json.dumps(header).encode() + b"\n" + b"".join(parts)


def write_job(job: RenderJob, **more: object) -> bytes:
    """Return a job as a message; `more` goes into its line."""
    sizes = [[name, len(data)] for name, data in job.files]
    header = {"program": job.program, "arguments": list(job.arguments), "files": sizes, **more}
    return write_message(header, tuple(data for _, data in job.files))


def read_line(source: BinaryIO) -> dict[str, object]:
    """Return the line of a message; raises `SourceError` for anything else."""
    line = source.readline(MOST_LINE)
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not line.endswith(b"\n") or not isinstance(found, dict):
        raise SourceError("the message of the renderer cannot be read")
    return found


def read_exactly(source: BinaryIO, size: object) -> bytes:
    """Return this many bytes; raises `SourceError` if there are fewer or too many."""
    if not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
        raise SourceError("the message of the renderer cannot be read")
    data = source.read(size)
    if len(data) != size:
        raise SourceError("the connection to the renderer ended early")
    return data


def read_job(source: BinaryIO) -> tuple[RenderJob, RenderLimits]:
    """Return a job and its limits, as a client sent them; raises `SourceError`."""
    header = read_line(source)
    program, arguments, files = (header.get(name) for name in ("program", "arguments", "files"))
    if program not in (HELM, KUSTOMIZE) or not isinstance(arguments, list) or not isinstance(files, list):
        raise SourceError("the renderer does not know this program")
    if sum(int(size) for _, size in files) > MOST_BYTES:
        raise SourceError(f"the files to render are larger than {MOST_BYTES:,} bytes")
    read = tuple((str(name), read_exactly(source, size)) for name, size in files)
    limits = header.get("limits")
    return RenderJob(str(program), tuple(map(str, arguments)), read), _read_limits(limits)


def _read_limits(given: object) -> RenderLimits:
    """Return the limits that a client asks for, none of them above ours."""
    asked = given if isinstance(given, dict) else {}
    ours = asdict(DEFAULT_LIMITS)
    return RenderLimits(**{name: min(most, type(most)(asked.get(name, most))) for name, most in ours.items()})
