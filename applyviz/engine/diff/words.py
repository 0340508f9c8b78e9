"""Align the lines and words of two texts.

Left out: moved lines, and texts too long to read word by word (they count as replaced, so that no page waits for them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MANY_WORDS = 2_000
_MANY_LINES = 4_000


@dataclass(frozen=True, slots=True)
class Part:
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
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield start + a, start + b, start + c, start + d, tag == "equal"


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
