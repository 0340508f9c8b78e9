"""The disposable process that reads an untrusted pack: limits first, then bytes, then the files of one commit.

Only `fetching` runs it. It answers JSON lines: the facts of the commit, then each file and each that is refused, or one
error. Objects are found
by the hash of what they contain, which it computes itself.
"""

from __future__ import annotations

import gc
import json
import sys
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import BinaryIO

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.pack import MemoryPackIndex, Pack, PackData

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.values import JSONObject
from applyviz.sources.child import limit_self
from applyviz.sources.git.tree import CommitReader

_NAME, _SUBJECT, _TAGS = 120, 200, 5


def open_pack(data: bytes, most: int) -> Pack:
    """Return the objects of a pack by the hashes of what they contain; raises `SourceError` beyond a number of them."""
    if data[:4] != b"PACK" or int.from_bytes(data[8:12], "big") > most:
        raise SourceError(f"one commit of the repository has more than {most:,} objects")
    pack = PackData.from_file(BytesIO(data), DEFAULT_OBJECT_FORMAT, len(data))
    return Pack.from_objects(pack, MemoryPackIndex.for_pack(pack))


def find_commit(pack: Pack, oid: bytes) -> Commit:
    """Return the commit behind an id, through annotated tags."""
    for _ in range(_TAGS):
        found = pack[ObjectID(oid)]
        if isinstance(found, Commit):
            return found
        if not isinstance(found, Tag):
            break
        oid = found.object[1]
    raise SourceError("the ref leads to no commit")


def read_text(data: bytes) -> str:
    """Return what git says of a commit as text that a database stores: `␀` for each NUL character, which none does."""
    return data.decode("utf-8", "replace").replace("\0", "\N{SYMBOL FOR NULL}")


def _read_date(commit: Commit) -> str:
    try:
        return datetime.fromtimestamp(commit.author_time, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def read_facts(commit: Commit) -> dict[str, str]:
    """Return id, author without address, date and the first line of the message."""
    author = read_text(commit.author).partition("<")[0].strip()
    lines = read_text(commit.message).strip().splitlines()
    return {
        "commit": commit.id.decode(),
        "author": author[:_NAME],
        "date": _read_date(commit),
        "subject": (lines[0] if lines else "")[:_SUBJECT],
    }


def _answer(header: JSONObject, data: bytes, target: BinaryIO) -> None:
    limits = header["limits"]
    pack = open_pack(data, limits["objects"])
    commit = find_commit(pack, header["oid"].encode())
    reader = CommitReader(pack, limits)
    files = reader.collect(commit.tree, header["paths"], takes_all=header["takes_all"])
    _write(target, read_facts(commit))
    for name, content in files:
        _write(target, {"name": name, "content": b64encode(content).decode()})
    for name, reason in reader.refused.items():
        _write(target, {"name": name, "refused": reason})


def _write(target: BinaryIO, row: Mapping[str, str]) -> None:
    target.write(json.dumps(row).encode() + b"\n")


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the one question on `source`."""
    header = json.loads(source.readline())
    gc.disable()  # a short-lived process does not need collection
    limit_self(header["memory_bytes"], header["cpu_seconds"])
    try:
        _answer(header, source.read(header["pack_bytes"]), target)
    except SourceError as error:
        _write(target, {"error": str(error)})
    except MemoryError:
        _write(target, {"error": "reading the repository needs more memory than is allowed"})
    except Exception:  # whatever hostile bytes do to the reader, it is their fault and stays here
        _write(target, {"error": "the server sent a damaged repository; try again, and check it with git fsck"})
    target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
