"""Align the lines and words of two texts.

Left out: moved lines, and texts too long to read word by word (they count as replaced, so that no page waits for them).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from msgspec import Struct

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MANY_WORDS = 2_000
_MANY_LINES = 4_000
# How many pairs of equal texts are compared for each text, beyond the first; texts of people and tools need fewer.
_MOST_PAIRS = 256


class Part(Struct, frozen=True):
    """A part of a line: changed, or equal on both sides."""

    text: str
    is_changed: bool = False


def align(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yield the runs of two sequences: start and end on both sides, and whether they are equal."""
    start, limit = 0, min(len(before), len(after))
    while start < limit and before[start] == after[start]:
        start += 1
    tail = 0
    while tail < limit - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    if start:
        yield 0, start, 0, start, True
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    yield from _align_middle(old, new, start)
    if tail:
        yield len(before) - tail, len(before), len(after) - tail, len(after), True


def _align_middle(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[tuple[int, int, int, int, bool]]:
    if not old and not new:
        return
    if not old or not new or len(old) + len(new) > _MANY_LINES:
        yield start, start + len(old), start, start + len(new), False
        return
    a = b = c = d = 0  # the equal run so far
    for at, other, size in (*_match(old, new), (len(old), len(new), 0)):
        if (at, other) != (b, d):  # always at the end: two texts that end alike have no middle there
            if a < b:
                yield start + a, start + b, start + c, start + d, True
            yield start + b, start + at, start + d, start + other, False
            a, c = at, other
        b, d = at + size, other + size


def _list_rare(old: Sequence[str], new: Sequence[str], most: int) -> dict[str, int]:
    """Return how often the new side has each text, without the texts that make the most pairs of equal ones."""
    numbers, total = Counter(new), 0
    pairs = {text: number * numbers[text] for text, number in Counter(old).items()}
    rare = {}
    for text in sorted(pairs, key=pairs.__getitem__):
        total += pairs[text]
        if total > most:
            break
        rare[text] = numbers[text]
    return rare


class EqualRuns(Struct, frozen=True):
    """The equal runs of two sequences in their order: start in each, and length.

    - `left`: the steps that were not needed; `is_whole`: whether everything was compared.
    """

    runs: list[tuple[int, int, int]]
    left: int
    is_whole: bool


def find_runs(old: Sequence[str], new: Sequence[str], left: int, *, of_each: int = 0) -> EqualRuns:
    """Return the equal runs of two sequences, the longest one first, then those beside it, within `left` steps.

    - A pair of equal texts is a step, and each text that is looked at is `of_each` of them. A few texts that everything
      repeats would cost the cube of their number: they only extend the runs of others.
    """
    rare = _list_rare(old, new, left)
    matcher = SequenceMatcher(lambda text: text not in rare, old, new, autojunk=False)
    steps = [0, *accumulate(of_each + max(0, rare.get(text, 0) - 1) for text in old)]
    found: list[tuple[int, int, int]] = []
    waiting = deque([(0, len(old), 0, len(new))])
    while waiting and left >= 0:
        a, b, c, d = waiting.popleft()
        left -= steps[b] - steps[a]
        at, other, size = matcher.find_longest_match(a, b, c, d)
        if size:
            found.append((at, other, size))
            beside = ((a, at, c, other), (at + size, b, other + size, d))
            waiting.extend(one for one in beside if one[0] < one[1] and one[2] < one[3])
    is_whole = not waiting and rare.keys() >= set(old) & set(new)
    return EqualRuns(sorted(found), left, is_whole)


def _match(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the equal runs of two sequences; what is left when all pairs are spent counts as replaced."""
    return find_runs(old, new, _MOST_PAIRS * (len(old) + len(new))).runs


def mark_words(before: str, after: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Return both lines as parts, with the differing words marked."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) + len(new) > _MANY_WORDS:
        return (Part(before, True),), (Part(after, True),)
    left: list[Part] = []
    right: list[Part] = []
    for a, b, c, d, is_same in align(old, new):
        if a < b:
            left.append(Part("".join(old[a:b]), not is_same))
        if c < d:
            right.append(Part("".join(new[c:d]), not is_same))
    return tuple(left), tuple(right)
