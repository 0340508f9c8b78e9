"""Parse a whole bundle in one disposable child process with limits; a bomb kills only the child.

Answers come one line per file, which identifies the file that killed the child: that file is refused with a plain
reason and the rest goes to a new child. Safe from any thread: no memory of ours is forked.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from applyviz.engine.manifests.documents import DocumentProblem, ParsedFile
from applyviz.engine.manifests.limits import DEFAULT_LIMITS, ReadLimits
from applyviz.engine.objects.errors import SourcePosition
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.child import ChildLimits, ask_child
from applyviz.sources.nuls import refuse_nuls
from applyviz.sources.wire import decode_file

CHILD = "applyviz.sources.reading_child"
DEFAULT_CHILD_LIMITS = ChildLimits()
_TOO_MUCH = "reading it needs more memory or a deeper stack than is allowed"


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


def read_bundle(
    bundle: SourceBundle,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
) -> tuple[ParsedFile, ...]:
    """Parse every file of a bundle outside this process; return one `ParsedFile` per file, in order.

    - Never raises for the content of a file: a file that kills its child becomes one problem that names it.
    """
    waiting = [file for file in bundle.files if len(file.data) <= limits.file_bytes]
    parsed: dict[str, ParsedFile] = {}
    broken = 0
    while waiting:
        lines, reason = _ask_child(waiting, limits, child_limits)
        with _collector_paused():
            for file, line in zip(waiting, lines, strict=False):
                found = decode_file(file.name, line)
                # JSON always spells a NUL like this; most files skip the search.
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
