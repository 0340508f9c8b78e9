"""Whose push brought each commit: the commits that no known push brought. Pure.

Rule: a push moves a branch from one commit to another and brings the commits of the new one that the old one did not
contain. What an old commit contained is known from the fetched history, or, if a force push removed it from there, from
the pushes that had led to it. A push from a commit of which nothing is known explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

Graph = Mapping[str, Sequence[str]]


class PushMove(Struct, frozen=True):
    """A push: the commit before it ("": the branch was new) and after it."""

    before: str
    after: str


def list_reachable(graph: Graph, commit: str) -> frozenset[str]:
    """Return a commit with all its known ancestors; empty if it is not known."""
    found: set[str] = set()
    waiting = [commit]
    while waiting:
        one = waiting.pop()
        if one in graph and one not in found:
            found.add(one)
            waiting.extend(graph[one])
    return frozenset(found)


class _Moves:
    """The moves of one branch over a known history."""

    def __init__(self, graph: Graph, moves: Iterable[PushMove], roots: Iterable[str]) -> None:
        self._graph, self._roots = graph, frozenset(roots)
        self._led_to: dict[str, list[str]] = {}
        for move in moves:
            self._led_to.setdefault(move.after, []).append(move.before)

    def find_contained(self, commit: str) -> frozenset[str] | None:
        """Return the known commits that a former tip contained; None if nothing is known of it."""
        contained: set[str] = set()
        waiting, seen, is_grounded = [commit], set[str](), False
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if one in self._graph:
                contained |= list_reachable(self._graph, one)
            elif one in self._led_to and one not in self._roots:
                waiting.extend(self._led_to[one])
                continue
            elif one and one not in self._roots:
                return None
            is_grounded = True
        return frozenset(contained) if is_grounded else None


def list_tips(graph: Graph, commits: Iterable[str], moves: Sequence[PushMove]) -> frozenset[str]:
    """Return the commits whose pushers count: these commits, and former tips that a force push removed on the way."""
    tips = set(commits)
    while True:
        removed = {move.before for move in moves if move.after in tips and move.before and move.before not in graph}
        if removed <= tips:
            return frozenset(tips)
        tips |= removed


def find_unexplained(
    graph: Graph, commits: Sequence[str], moves: Sequence[PushMove], *, chosen: str, base: str
) -> tuple[str, ...]:
    """Return the commits, in their order, that no move brought.

    - `graph`: the parents of each known commit. `chosen`: a commit that a person chose: what it contains needs no push.
    - `base`: the last approved commit, which may be older than the known history.
    """
    explained = set(list_reachable(graph, chosen))
    known = _Moves(graph, moves, (chosen, base))
    for move in moves:
        before = known.find_contained(move.before)
        if before is not None:
            explained |= list_reachable(graph, move.after) - before
    return tuple(commit for commit in commits if commit not in explained)
