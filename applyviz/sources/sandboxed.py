"""Parse a whole bundle in one disposable child process with limits; a bomb kills only the child.

Answers come one line per file, which identifies the file that killed the child: that file is refused with a plain
reason and the rest goes to a new child. Safe from any thread: no memory of ours is forked.

The lines can be kept and decoded again without a child, by the same version of the reader (`name_reader`).
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.manifests.documents import DocumentProblem, ParsedFile
from applyviz.engine.manifests.limits import DEFAULT_LIMITS, ReadLimits
from applyviz.engine.objects.errors import SourcePosition
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.child import ChildLimits, ask_child
from applyviz.sources.nuls import refuse_nuls
from applyviz.sources.wire import decode_answer, decode_file

CHILD = "applyviz.sources.reading_child"
DEFAULT_CHILD_LIMITS = ChildLimits()
READING = ("engine/objects", "engine/manifests", "engine/channels", "sources")
"""The folders of this product whose code decides how a file is read."""
_PRODUCT = Path(__file__).resolve().parents[1]
_TOO_MUCH = "reading it needs more memory or a deeper stack than is allowed"
_MALFORMED = "it cannot be read: the process that parses manifests gave no valid answer"


class ReadFiles(Struct, frozen=True):
    """The parsed files of a bundle, in order.

    - `lines`: what the child answered for each; None unless it gave a valid answer for all, because limits of time
      depend on the machine.
    """

    files: tuple[ParsedFile, ...]
    lines: tuple[bytes, ...] | None


@lru_cache(maxsize=1)
def name_reader() -> str:
    """Return the version of the reader: a digest of the code that decides how a file is read."""
    found = hashlib.sha256(f"{yaml.__version__} {sys.version_info[:2]}".encode())
    for folder in READING:
        for path in sorted((_PRODUCT / folder).glob("*.py")):
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _ask_child(files: Sequence[BundledFile], limits: ReadLimits, child_limits: ChildLimits) -> tuple[list[bytes], str]:
    """Return the lines of one child, and why it ended early ("" if it did not)."""
    header = {
        "memory_bytes": child_limits.memory_bytes,
        "cpu_seconds": child_limits.cpu_seconds,
        "answer_bytes": child_limits.answer_bytes,
        "limits": asdict(limits),
        "files": [(file.name, len(file.data)) for file in files],
    }
    message = json.dumps(header).encode() + b"\n" + b"".join(file.data for file in files)
    answer, reason = ask_child(CHILD, message, child_limits)
    lines = answer.split(b"\n")[:-1]
    return lines, "" if len(lines) >= len(files) else reason or _TOO_MUCH


def _refuse(file: BundledFile, reason: str) -> ParsedFile:
    return ParsedFile(file.name, (), (DocumentProblem(reason, SourcePosition(file.name)),), 0)


@contextmanager
def _collector_paused() -> Iterator[None]:
    # Positions are many small lists that all stay: searching them for garbage is most of the cost. Two threads at once
    # are harmless: the one that found the collector enabled enables it again.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _without_nuls(line: bytes, found: ParsedFile) -> ParsedFile:
    # JSON always spells a NUL like this; most files skip the search.
    return refuse_nuls(found) if b"\\u0000" in line else found


def _read_answers(files: Sequence[BundledFile], lines: Sequence[bytes]) -> Iterator[tuple[ParsedFile, bytes | None]]:
    """Yield each answered file with its line; one whose line describes no file is refused, and has none."""
    for file, line in zip(files, lines, strict=False):
        try:
            yield _without_nuls(line, decode_answer(file.name, line)), line
        except ValueError:
            yield _refuse(file, _MALFORMED), None


def decode_lines(bundle: SourceBundle, lines: Sequence[bytes]) -> tuple[ParsedFile, ...]:
    """Return the files that kept lines describe; raises `ValueError` for lines of other files."""
    with _collector_paused():
        return tuple(
            _without_nuls(line, decode_file(file.name, line)) for file, line in zip(bundle.files, lines, strict=True)
        )


def read_files(
    bundle: SourceBundle,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
) -> ReadFiles:
    """Parse every file of a bundle outside this process; return one `ParsedFile` per file, in order.

    - Never raises for the content of a file: a file that kills its child becomes one problem that names it.
    """
    waiting = [file for file in bundle.files if len(file.data) <= limits.file_bytes]
    parsed: dict[str, ParsedFile] = {}
    kept: list[bytes] = []
    broken = 0
    while waiting:
        lines, reason = _ask_child(waiting, limits, child_limits)
        with _collector_paused():
            found = list(_read_answers(waiting, lines))
        parsed.update((file.file, file) for file, _ in found)
        kept += [line for _, line in found if line is not None]
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
    files = tuple(parsed.get(file.name) or _refuse(file, too_large) for file in bundle.files)
    return ReadFiles(files, tuple(kept) if len(kept) == len(files) else None)
