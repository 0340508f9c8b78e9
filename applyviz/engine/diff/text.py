"""Two objects as lines side by side: paired field by field, list entries by their keys, words marked.

Every line knows its field path, so that a page can put field owners and manifest lines beside it. How lines find
each other is `pairing`'s; here they get numbers and states, are folded, and stand in one column. Objects come masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from applyviz.engine.diff.pairing import LinePair, Pairer
from applyviz.engine.diff.words import Part, mark_words
from applyviz.engine.diff.yaml_text import YAMLLine
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import of_root


class LineState(StrEnum):
    """The state of a row."""

    SAME = "same"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


# Rows and lines are tuples: an object of a megabyte has a hundred thousand of them.
class DiffLine(NamedTuple):
    """One side of a row: the line and its number (from 1).

    - `pair` holds both texts of a line that changed, and `side` says which of them this one is; words are marked
      when they are asked for, because most lines of a long object are never shown.
    """

    line: YAMLLine
    number: int
    is_new: bool = False
    pair: tuple[str, str] | None = None
    side: int = 0

    @property
    def parts(self) -> tuple[Part, ...]:
        """The pieces of its text, those that differ marked."""
        if self.pair is None:
            return (Part(self.line.text, self.is_new),)
        return mark_words(*self.pair)[self.side]


class TextDiffRow(NamedTuple):
    """One row side by side; a side is None where it has no line."""

    state: LineState
    before: DiffLine | None
    after: DiffLine | None

    @property
    def path(self) -> FieldPath:
        """The field that the row is about."""
        side = self.after or self.before
        return side.line.path if side is not None else ()


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows that are the same on both sides, and hidden."""

    rows: tuple[TextDiffRow, ...]

    @property
    def count(self) -> int:
        """How many rows are hidden."""
        return len(self.rows)


def diff_lines(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    root: Node | None = None,
    looks_inside: bool = True,
) -> tuple[TextDiffRow, ...]:
    """Return all rows of two objects side by side; None is no object.

    - `looks_inside`: text that is JSON or YAML on both sides is compared by its fields, not by its lines.
    """
    pairs = Pairer(looks_inside=looks_inside).pair_maps(of_root(root), before or {}, after or {}, (), 0)
    return tuple(_number(pairs))


def fold_rows(rows: Sequence[TextDiffRow], *, context: int = 3) -> tuple[TextDiffRow | Fold, ...]:
    """Return the rows with long runs of equal ones folded; `context` rows stay around what differs."""
    shown = bytearray(len(rows))
    for position, row in enumerate(rows):
        if row.state is not LineState.SAME:
            first, last = max(position - context, 0), min(position + context + 1, len(rows))
            shown[first:last] = b"\x01" * (last - first)
    folded: list[TextDiffRow | Fold] = []
    hidden: list[TextDiffRow] = []
    for row, is_shown in zip(rows, shown, strict=True):
        if not is_shown:
            hidden.append(row)
            continue
        folded.extend(_close_fold(hidden))
        hidden = []
        folded.append(row)
    folded.extend(_close_fold(hidden))
    return tuple(folded)


def _close_fold(hidden: list[TextDiffRow]) -> Iterable[TextDiffRow | Fold]:
    # A fold takes a line itself: one hidden row is shown.
    return [Fold(tuple(hidden))] if len(hidden) > 1 else hidden


def unify_rows(rows: Iterable[TextDiffRow]) -> tuple[TextDiffRow, ...]:
    """Return the rows for one column: what is removed stands before what is added."""
    unified: list[TextDiffRow] = []
    removed: list[TextDiffRow] = []
    added: list[TextDiffRow] = []
    for row in rows:
        if row.state is LineState.SAME:
            unified += [*removed, *added, row]
            removed, added = [], []
            continue
        if row.before is not None:
            removed.append(TextDiffRow(LineState.REMOVED, row.before, None))
        if row.after is not None:
            added.append(TextDiffRow(LineState.ADDED, None, row.after))
    return (*unified, *removed, *added)


def _is_same_line(before: YAMLLine, after: YAMLLine) -> bool:
    return (before.meaning or before.text, before.depth) == (after.meaning or after.text, after.depth)


def _number(pairs: Iterable[LinePair]) -> Iterator[TextDiffRow]:
    left = right = 0
    for before, after in pairs:
        left += before is not None
        right += after is not None
        if before is not None and after is not None and _is_same_line(before, after):
            yield TextDiffRow(LineState.SAME, DiffLine(before, left), DiffLine(after, right))
        elif before is not None and after is not None:
            pair = (before.text, after.text)
            sides = DiffLine(before, left, pair=pair), DiffLine(after, right, pair=pair, side=1)
            yield TextDiffRow(LineState.CHANGED, *sides)
        else:
            for line in filter(None, (before,)):
                yield TextDiffRow(LineState.REMOVED, DiffLine(line, left, is_new=True), None)
            for line in filter(None, (after,)):
                yield TextDiffRow(LineState.ADDED, None, DiffLine(line, right, is_new=True))
