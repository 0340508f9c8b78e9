"""Show two objects as lines side by side: paired by field and list key, with changed words marked.

Every line knows its field path, so that a page can show field owners and manifest lines beside it. `pairing` matches
the lines; this module numbers them, classifies them, folds them, and merges them into one column. Objects arrive
masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from applyviz.engine.diff.pairing import LinePair, Pairer
from applyviz.engine.diff.words import Part, mark_words
from applyviz.engine.diff.yaml_text import YAMLLine
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import of_root


class LineState(StrEnum):
    """The state of a row."""

    SAME = "same"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


# Rows and lines are tuples: an object of one megabyte has a hundred thousand of them.
class DiffLine(NamedTuple):
    """One side of a row: the line and its number (from 1).

    - `pair` holds both texts of a changed line, and `side` says which of them this is. Changed words are computed on
      demand, because most lines of a long object are never shown.
    """

    line: YAMLLine
    number: int
    is_new: bool = False
    pair: tuple[str, str] | None = None
    side: int = 0

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the text; those that differ are marked."""
        if self.pair is None:
            return (Part(self.line.text, self.is_new),)
        return mark_words(*self.pair)[self.side]


class TextDiffRow(NamedTuple):
    """One row of the side-by-side view; a side without a line is None."""

    state: LineState
    before: DiffLine | None
    after: DiffLine | None

    @property
    def path(self) -> FieldPath:
        """The field that the row shows."""
        side = self.after or self.before
        return side.line.path if side is not None else ()

    @property
    def more(self) -> int:
        """The number of equal rows after this one that are not there."""
        return self.after.line.more if self.after is not None else 0


class Fold(Struct, frozen=True):
    """The number of hidden rows that are equal on both sides."""

    count: int


def diff_lines(
    before: JSONObject | None,
    after: JSONObject | None,
    *,
    root: Node | None = None,
    looks_inside: bool = True,
    is_short: bool = False,
    most: int | None = None,
) -> tuple[TextDiffRow, ...]:
    """Return all rows of two objects side by side; None is no object.

    - `looks_inside`: compare text that is JSON or YAML on both sides by its fields instead of its lines.
    - `is_short`: of a long value that is equal on both sides there is only the first row, which counts the others.
    - `most`: the rows end with the differing one of that number; None for all rows.
    """
    pairer = Pairer(looks_inside=looks_inside, is_short=is_short)
    pairs = pairer.pair_maps(of_root(root), before or {}, after or {}, (), 0)
    return tuple(_end_after(_number(pairs), most))


def _end_after(rows: Iterable[TextDiffRow], most: int | None) -> Iterator[TextDiffRow]:
    count = 0
    for row in rows:
        yield row
        count += row.state is not LineState.SAME
        if count == most:
            return


def fold_rows(
    rows: Sequence[TextDiffRow], *, context: int = 3, keep: Callable[[TextDiffRow], bool] = lambda _row: False
) -> tuple[TextDiffRow | Fold, ...]:
    """Return the rows with long equal runs folded; `context` equal rows stay around each difference.

    - `keep`: rows that stay although they are equal, as if they differed.
    """
    shown = bytearray(len(rows))
    for position, row in enumerate(rows):
        if row.state is not LineState.SAME or keep(row):
            first, last = max(position - context, 0), min(position + context + 1, len(rows))
            shown[first:last] = b"\x01" * (last - first)
    folded: list[TextDiffRow | Fold] = []
    hidden: list[TextDiffRow] = []
    more = 0
    for row, is_shown in zip(rows, shown, strict=True):
        if not is_shown:
            hidden.append(row)
            continue
        folded.extend(_close_fold(hidden, more))
        hidden, more = [], row.more
        folded.append(row)
    folded.extend(_close_fold(hidden, more))
    return tuple(folded)


def _close_fold(hidden: list[TextDiffRow], more: int) -> Iterable[TextDiffRow | Fold]:
    # A fold takes one line itself, so a single row is never hidden.
    count = more + sum(1 + row.more for row in hidden)
    return [Fold(count)] if count > 1 else hidden


def unify_rows(rows: Iterable[TextDiffRow]) -> tuple[TextDiffRow, ...]:
    """Return the rows for a single column: removed lines come before added lines."""
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
            left, right = left + before.more, right + after.more
        elif before is not None and after is not None:
            pair = (before.text, after.text)
            sides = DiffLine(before, left, pair=pair), DiffLine(after, right, pair=pair, side=1)
            yield TextDiffRow(LineState.CHANGED, *sides)
        else:
            for line in filter(None, (before,)):
                yield TextDiffRow(LineState.REMOVED, DiffLine(line, left, is_new=True), None)
            for line in filter(None, (after,)):
                yield TextDiffRow(LineState.ADDED, None, DiffLine(line, right, is_new=True))
