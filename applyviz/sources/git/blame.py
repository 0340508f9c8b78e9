"""Which commit last changed each line of a file, among the commits that were fetched.

Rule: https://git-scm.com/docs/git-blame: a line that a parent has is passed to the parent; what no parent has is the
commit's own. A commit whose parents were not fetched passes its lines to none: they are older than what is known.
A file that is too long, or whose lines repeat each other too often, is compared in part, and such lines are marked.
"""

from __future__ import annotations

import heapq
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from operator import eq
from typing import Protocol

from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from applyviz.engine.diff.words import EqualRuns, find_runs

_MOST_LINES = 20_000
# How many lines and pairs of equal lines are compared for one file, in all of its commits: about a second.
_MOST_STEPS = 3_000_000
OLDER = -1
"""The number in place of a commit for a line that is older than all that were fetched."""
UNCOMPARED = -2
"""The number in place of a commit for a line that was not compared with every commit."""


class PackObjects(Protocol):
    """Objects by their ids; raises `KeyError`."""

    def __getitem__(self, oid: ObjectID) -> ShaFile:
        """Return one object."""


def find_blob(objects: PackObjects, commit: Commit, path: str) -> ObjectID | None:
    """Return the id of a file in a commit; None without it."""
    mode, oid = stat.S_IFDIR, commit.tree
    for part in path.encode().split(b"/"):
        tree = objects[oid] if stat.S_ISDIR(mode) else None
        if not isinstance(tree, Tree) or part not in tree:
            return None
        mode, oid = tree[part]
    return oid if stat.S_ISREG(mode) else None


def _read_lines(objects: PackObjects, oid: ObjectID) -> list[str]:
    """Return the lines of a file, each byte as one character, so that lines are equal if their bytes are."""
    blob = objects[oid]
    lines = blob.as_raw_string().splitlines() if isinstance(blob, Blob) else []
    return [line.decode("latin-1") for line in lines]


def _count_same(old: Iterable[str], new: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(bool, map(eq, old, new)))


class _Blamer:
    """The work on one file: for each commit still to read, its lines that stand for lines of the newest."""

    def __init__(self, objects: PackObjects, commits: Mapping[ObjectID, Commit], path: str) -> None:
        self._objects, self._commits, self._path = objects, commits, path
        self._order = {oid: number for number, oid in enumerate(commits)}
        self._waiting: dict[ObjectID, dict[int, list[int]]] = {}
        self._heap: list[tuple[int, ObjectID]] = []
        self._left = _MOST_STEPS
        self._uncompared: set[int] = set()

    def blame(self, tip: ObjectID) -> list[int]:
        """Return the number of a commit for each line of the file, or `OLDER`, or `UNCOMPARED`."""
        blob = find_blob(self._objects, self._commits[tip], self._path)
        count = len(_read_lines(self._objects, blob)) if blob is not None else 0
        if count > _MOST_LINES:
            return [UNCOMPARED] * count
        found = [OLDER] * count
        self._pass(tip, {line: [line] for line in range(count)})
        while self._heap:
            _number, oid = heapq.heappop(self._heap)
            own = self._divide(self._commits[oid], self._waiting.pop(oid))
            for line in own:
                found[line] = UNCOMPARED if line in self._uncompared else self._order[oid]
        return found

    def _pass(self, oid: ObjectID, lines: Mapping[int, list[int]]) -> None:
        if oid not in self._waiting:
            self._waiting[oid] = {}
            heapq.heappush(self._heap, (self._order[oid], oid))
        for line, meant in lines.items():
            self._waiting[oid].setdefault(line, []).extend(meant)

    def _divide(self, commit: Commit, lines: dict[int, list[int]]) -> Iterator[int]:
        """Pass lines to the parents that have them; yield those that are the commit's own."""
        blob = find_blob(self._objects, commit, self._path)
        known = [parent for parent in commit.parents if parent in self._commits]
        for parent in known:
            before = find_blob(self._objects, self._commits[parent], self._path)
            if before is not None and before == blob:
                self._pass(parent, lines)
                return
        for parent in known:
            self._match(parent, blob, lines)
        if len(known) == len(commit.parents):  # else the lines may be those of a parent that was not fetched
            yield from (line for meant in lines.values() for line in meant)

    def _match(self, parent: ObjectID, blob: ObjectID | None, lines: dict[int, list[int]]) -> None:
        """Pass the lines that a parent has."""
        before = find_blob(self._objects, self._commits[parent], self._path)
        if before is None or blob is None or not lines:
            return
        old, new = _read_lines(self._objects, before), _read_lines(self._objects, blob)
        passed: dict[int, list[int]] = {}
        for start, at, size in self._list_runs(old, new, lines):
            for offset in range(size):
                if at + offset in lines:
                    passed[start + offset] = lines.pop(at + offset)
        if passed:
            self._pass(parent, passed)

    def _list_runs(
        self, old: list[str], new: list[str], lines: Mapping[int, list[int]]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the equal runs of two versions; note the lines that may be in the older one and were not compared."""
        head = _count_same(old, new)
        tail = _count_same(reversed(old[head:]), reversed(new[head:]))
        yield 0, 0, head
        yield len(old) - tail, len(new) - tail, tail
        before, after = old[head : len(old) - tail], new[head : len(new) - tail]
        found = find_runs(before, after, self._left, of_each=1) if self._left >= 0 else EqualRuns([], -1, False)
        self._left = found.left
        matched = {other + offset for _at, other, size in found.runs for offset in range(size)}
        yield from ((head + at, head + other, size) for at, other, size in found.runs)
        if not found.is_whole:
            known = set(before)
            for number, text in enumerate(after):
                if number not in matched and text in known:
                    self._uncompared.update(lines.get(head + number, ()))


def blame_file(objects: PackObjects, commits: Mapping[ObjectID, Commit], path: str) -> str:
    """Return lines and commits as `FIRST,COUNT,COMMIT` in order; commits by their place among `commits`.

    - `commits`: newest first, every commit before its parents; the file is that of the first.
    - Lines that were not compared have the number `UNCOMPARED`, as do all of a file of more than 20,000 lines.
    """
    if not commits:
        return ""
    return " ".join(_write_ranges(_Blamer(objects, commits, path).blame(next(iter(commits)))))


def _write_ranges(numbers: list[int]) -> Iterator[str]:
    start = 0
    for line in range(1, len(numbers) + 1):
        if line == len(numbers) or numbers[line] != numbers[start]:
            yield f"{start + 1},{line - start},{numbers[start]}"
            start = line


def read_blame(text: str, line: int) -> int:
    """Return the number of the commit that last changed a line, `OLDER` if none is known, or `UNCOMPARED`."""
    for part in text.split():
        first, count, number = map(int, part.split(","))
        if first <= line < first + count:
            return number
    return OLDER
