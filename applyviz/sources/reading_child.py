"""The disposable process that parses what people bring: limits first, then bytes, then answers.

Run by `sandboxed` and by nothing else. It sets hard limits on its own memory, time and files before it
looks at a byte, so that whatever a text does to the parser happens here.
"""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import fields
from typing import BinaryIO

from applyviz.engine.manifests.documents import DocumentProblem, ParsedFile
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import SourcePosition
from applyviz.sources.child import limit_self
from applyviz.sources.wire import encode_file


def _answer(name: str, data: bytes, limits: ReadLimits, answer_bytes: int) -> bytes:
    reason = "reading it needs more memory than is allowed"
    try:
        line = encode_file(parse_manifests(data, name, limits=limits))
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
    gc.disable()  # one short life: collecting would only cost time
    limit_self(header["memory_bytes"], header["cpu_seconds"])
    known = {field.name for field in fields(ReadLimits)}
    limits = ReadLimits(**{k: v for k, v in header["limits"].items() if k in known})
    for name, size in header["files"]:
        target.write(_answer(name, source.read(size), limits, header["answer_bytes"]))
        target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
