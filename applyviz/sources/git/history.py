"""The newest commits of a repository: what changed since another commit, and who last changed each line.

Fetched after the files, with limits of its own. A history that is too large, too slow or damaged is left out: the
review goes on without it, and the page says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict

import msgspec
from msgspec import Struct

from applyviz.sources.child import ChildLimits, ask_child
from applyviz.sources.git.model import GitLimits, GitSource

CHILD = "applyviz.sources.git.history_child"
DEPTH = 50
LIMITS = GitLimits(pack_bytes=32 * 1024 * 1024, memory_bytes=512 * 1024 * 1024, cpu_seconds=8)


class _CommitRow(TypedDict):
    """One commit as the child process reports it; `files` is None if they were not listed."""

    commit: str
    author: str
    date: str
    subject: str
    parents: list[str]
    files: list[str] | None
    people: list[tuple[str, str]]


_decode_commits = msgspec.json.Decoder(list[_CommitRow]).decode
_decode_blame = msgspec.json.Decoder(tuple[str, str]).decode


class SourceHistory(Struct, frozen=True):
    """The newest commits as JSON text, and the commit of each line by file.

    - `people`: author and committer of each commit with their addresses, as JSON text apart from what pages list.
    """

    commits: str
    people: str
    blame: Mapping[str, str]


def read_history(pack: bytes, oid: bytes, source: GitSource, names: tuple[str, ...]) -> SourceHistory | None:
    """Return the history in a pack, as far as the time of the child sufficed; None without any, or a malformed one."""
    header = {
        "oid": oid.decode("ascii", "replace"),
        "paths": list(source.paths),
        "names": [] if source.takes_all else list(names),
        "most": DEPTH,
        "objects": LIMITS.objects,
        "pack_bytes": len(pack),
        "memory_bytes": LIMITS.memory_bytes,
        "cpu_seconds": LIMITS.cpu_seconds,
    }
    limits = ChildLimits(memory_bytes=LIMITS.memory_bytes, cpu_seconds=LIMITS.cpu_seconds)
    answer, _reason = ask_child(CHILD, json.dumps(header).encode() + b"\n" + pack, limits)
    commits, *blame = answer.split(b"\n")[:-1] or [b""]
    try:
        rows, lines = _decode_commits(commits), dict(map(_decode_blame, blame))
    except (msgspec.DecodeError, UnicodeError):
        return None
    people = {row["commit"]: row["people"] for row in rows}
    facts = [{name: value for name, value in row.items() if name != "people"} for row in rows]
    return SourceHistory(json.dumps(facts), json.dumps(people), lines) if rows else None
