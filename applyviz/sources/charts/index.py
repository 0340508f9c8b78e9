"""Find one version of a chart in the index of a repository; a child process with limits parses it.

Indexes of large repositories have tens of megabytes, and any server may send what it likes.
"""

from __future__ import annotations

import json

from msgspec import Struct

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.child import ERROR_ROW, ChildLimits, ask_child, read_row

CHILD = "applyviz.sources.charts.index_child"
LIMITS = ChildLimits(memory_bytes=1024 * 1024 * 1024, cpu_seconds=20, wall_seconds=25.0)
_ENTRY = frozenset(("address", "digest"))


class IndexEntry(Struct, frozen=True):
    """The address of an archive, perhaps relative, and its SHA-256 ("" if the index names none)."""

    address: str
    digest: str


def find_entry(index: bytes, chart: str, version: str) -> IndexEntry:
    """Return the entry of a chart's version; raises `SourceError` that names the versions that are there."""
    header = {
        "chart": chart,
        "version": version,
        "size": len(index),
        "memory_bytes": LIMITS.memory_bytes,
        "cpu_seconds": LIMITS.cpu_seconds,
    }
    message = json.dumps(header).encode() + b"\n" + index
    answer, reason = ask_child(CHILD, message, LIMITS, act="reading the index of the repository:")
    if reason:
        raise SourceError(reason)
    found = read_row(answer, ERROR_ROW, _ENTRY)
    if "error" in found:
        raise SourceError(found["error"])
    return IndexEntry(found["address"], found["digest"])
