"""The disposable process that parses untrusted files: limits first, then bytes, then answers.

Only `sandboxed` runs it. It sets hard limits on its own memory, time and files before it reads a byte, so that any
effect of a text on the parser stays in this process.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import BinaryIO

from applyviz.engine.channels.reading import take_channel_apart
from applyviz.engine.manifests.documents import DocumentProblem, ParsedFile
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart
from applyviz.engine.objects.errors import SourcePosition
from applyviz.sources.child import limit_self
from applyviz.sources.wire import encode_file


def _answer(name: str, data: bytes, limits: ReadLimits, answer_bytes: int) -> bytes:
    reason = "reading it needs more memory than is allowed"
    try:
        line = encode_file(take_patches_apart(take_channel_apart(parse_manifests(data, name, limits=limits))))
        if len(line) <= answer_bytes:
            return line
        reason = "it becomes too large once aliases and merge keys are expanded"
    except MemoryError:
        pass
    except RecursionError:
        reason = "it is nested too deeply"
    return encode_file(ParsedFile(name, (), (DocumentProblem(reason, SourcePosition(name)),), 0))


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer one line per file of the header."""
    header = json.loads(source.readline())
    gc.disable()  # a short-lived process does not need collection
    limit_self(header["memory_bytes"], header["cpu_seconds"])
    limits = ReadLimits(**{k: v for k, v in header["limits"].items() if k in ReadLimits.__struct_fields__})
    for name, size in header["files"]:
        target.write(_answer(name, source.read(size), limits, header["answer_bytes"]))
        target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
