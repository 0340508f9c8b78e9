"""The disposable process that reads the newest commits of an untrusted pack: who changed what, and each line's commit.

Only `history` runs it. It answers JSON lines: the commits, then each file with the commits of its lines, as far as the
time suffices.
"""

from __future__ import annotations

import gc
import heapq
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from dulwich.diff_tree import tree_changes
from dulwich.objects import Commit, ObjectID
from dulwich.pack import Pack

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.sources.child import limit_self
from applyviz.sources.git.blame import blame_file
from applyviz.sources.git.model import MOST_FILES
from applyviz.sources.git.reading_child import find_commit, open_pack, read_facts, read_text
from applyviz.sources.git.tree import is_below

if TYPE_CHECKING:
    from dulwich.object_store import BaseObjectStore

_MOST_BLAMED, _MOST_TEXT = 500, 200_000
_LONGEST_PERSON = 200
_ALL_FILES, _LONGEST_NAME = 1_000, 400


def _find(pack: Pack, oid: ObjectID) -> Commit | None:
    try:
        found = pack[oid]
    except KeyError:  # beyond the depth that was fetched
        return None
    return found if isinstance(found, Commit) else None


def _walk(pack: Pack, tip: Commit, most: int) -> Iterator[Commit]:
    """Yield commits, newest first, each before its parents."""
    waiting, children = [tip], {tip.id: 0}
    reachable: dict[ObjectID, Commit] = {}
    while waiting and len(reachable) < 10 * most:
        commit = waiting.pop()
        if commit.id in reachable:
            continue
        reachable[commit.id] = commit
        for parent in commit.parents:
            children[parent] = children.get(parent, 0) + 1
            found = _find(pack, parent)
            if found is not None:
                waiting.append(found)
    ready = [(-tip.commit_time, tip.id)]
    for _ in range(most):
        if not ready:
            return
        _time, oid = heapq.heappop(ready)
        yield reachable[oid]
        for parent in reachable[oid].parents:
            children[parent] -= 1
            if not children[parent] and parent in reachable:
                heapq.heappush(ready, (-reachable[parent].commit_time, parent))


def _list_files(pack: Pack, commit: Commit, paths: Sequence[str]) -> list[str] | None:
    """Return the files that a commit changed against its first parent; None if that was not fetched."""
    parent = _find(pack, commit.parents[0]) if commit.parents else None
    if commit.parents and parent is None:
        return None
    found: list[str] = []
    objects: BaseObjectStore = cast("BaseObjectStore", pack)  # trees are only read by their ids, which a pack does
    for change in tree_changes(objects, parent.tree if parent else None, commit.tree):
        entry = change.new if change.new is not None and change.new.path is not None else change.old
        name = (entry.path or b"").decode("utf-8", "replace") if entry is not None else ""
        if any(is_below(name, path) for path in paths):
            found.append(name[:_LONGEST_NAME])
        if len(found) > MOST_FILES:
            break
    return found


def _read_person(text: bytes) -> list[str]:
    """Return name and address of an author or committer."""
    name, _sign, rest = read_text(text).partition("<")
    return [name.strip()[:_LONGEST_PERSON], rest.rpartition(">")[0].strip()[:_LONGEST_PERSON]]


def _describe(pack: Pack, commits: Iterable[Commit], paths: Sequence[str]) -> Iterator[MutableObject]:
    """Yield the facts of each commit; without its files once too many were listed."""
    left = _ALL_FILES
    for commit in commits:
        files = _list_files(pack, commit, paths) if left > 0 else None
        left -= len(files or ())
        parents = [parent.decode() for parent in commit.parents[:8]]
        people = [_read_person(commit.author), _read_person(commit.committer)]
        yield {**read_facts(commit), "parents": parents, "files": files, "people": people}


def _blame(pack: Pack, commits: Mapping[ObjectID, Commit], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield files with the commits of their lines, until the answer is long enough."""
    left = _MOST_TEXT
    for name in names:
        text = blame_file(pack, commits, name)
        left -= len(text)
        if left < 0:
            return
        yield name, text


def _answer(header: JSONObject, data: bytes, target: BinaryIO) -> None:
    pack = open_pack(data, header["objects"])
    tip = find_commit(pack, header["oid"].encode())
    commits = {commit.id: commit for commit in _walk(pack, tip, header["most"])}
    _write(target, list(_describe(pack, commits.values(), header["paths"])))
    for found in _blame(pack, commits, header["names"][:_MOST_BLAMED]):
        _write(target, list(found))


def _write(target: BinaryIO, row: JSONValue) -> None:
    target.write(json.dumps(row).encode() + b"\n")
    target.flush()


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the one question on `source`; an error of any kind ends the answer early."""
    header = json.loads(source.readline())
    gc.disable()  # a short-lived process does not need collection
    limit_self(header["memory_bytes"], header["cpu_seconds"])
    with suppress(Exception):  # whatever hostile bytes do to the reader stays here: the review goes on without the rest
        _answer(header, source.read(header["pack_bytes"]), target)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
