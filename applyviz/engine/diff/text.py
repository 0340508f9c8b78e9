"""Two objects as lines side by side: paired field by field, list entries by their keys, words marked.

Every line knows its field path, so that a page can put field owners and manifest lines beside it. Text that
is JSON on both sides is laid out before it is compared; quantities of one amount are the same line. Rule: lists
pair as server-side apply names their entries; lists without keys pair by what is equal. Objects come masked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.diff.words import Part, align, mark_words
from applyviz.engine.diff.yamltext import (
    Line,
    below,
    is_block,
    name_entries,
    render_entry,
    render_field,
    sort_names,
    write_scalar,
)
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue, canonical_json, is_same_json
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import Topology, of_root

_ABSENT: Any = object()


class LineState(StrEnum):
    """What a row shows."""

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

    line: Line
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


class DiffRow(NamedTuple):
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

    rows: tuple[DiffRow, ...]

    @property
    def count(self) -> int:
        """How many rows are hidden."""
        return len(self.rows)


def diff_lines(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, *, root: Node | None = None
) -> tuple[DiffRow, ...]:
    """All rows of two objects side by side; None is no object."""
    pairs = _pair_maps(of_root(root), before or {}, after or {}, (), 0)
    return tuple(_number(pairs))


def fold_rows(rows: Sequence[DiffRow], *, context: int = 3) -> tuple[DiffRow | Fold, ...]:
    """The rows with long runs of equal ones folded; `context` rows stay around what differs."""
    shown = bytearray(len(rows))
    for position, row in enumerate(rows):
        if row.state is not LineState.SAME:
            first, last = max(position - context, 0), min(position + context + 1, len(rows))
            shown[first:last] = b"\x01" * (last - first)
    folded: list[DiffRow | Fold] = []
    hidden: list[DiffRow] = []
    for row, is_shown in zip(rows, shown, strict=True):
        if not is_shown:
            hidden.append(row)
            continue
        folded.extend(_close_fold(hidden))
        hidden = []
        folded.append(row)
    folded.extend(_close_fold(hidden))
    return tuple(folded)


def _close_fold(hidden: list[DiffRow]) -> Iterable[DiffRow | Fold]:
    # A fold takes a line itself: one hidden row is shown.
    return [Fold(tuple(hidden))] if len(hidden) > 1 else hidden


def unify_rows(rows: Iterable[DiffRow]) -> tuple[DiffRow, ...]:
    """The rows for one column: what is removed stands before what is added."""
    unified: list[DiffRow] = []
    removed: list[DiffRow] = []
    added: list[DiffRow] = []
    for row in rows:
        if row.state is LineState.SAME:
            unified += [*removed, *added, row]
            removed, added = [], []
            continue
        if row.before is not None:
            removed.append(DiffRow(LineState.REMOVED, row.before, None))
        if row.after is not None:
            added.append(DiffRow(LineState.ADDED, None, row.after))
    return (*unified, *removed, *added)


_Pair = tuple[Line | None, Line | None]


def _is_same_line(before: Line, after: Line) -> bool:
    if before.meaning and before.meaning == after.meaning:
        return True
    return (before.text, before.depth) == (after.text, after.depth)


def _number(pairs: Iterable[_Pair]) -> Iterator[DiffRow]:
    left = right = 0
    for before, after in pairs:
        left += before is not None
        right += after is not None
        if before is not None and after is not None and _is_same_line(before, after):
            yield DiffRow(LineState.SAME, DiffLine(before, left), DiffLine(after, right))
        elif before is not None and after is not None:
            pair = (before.text, after.text)
            sides = DiffLine(before, left, pair=pair), DiffLine(after, right, pair=pair, side=1)
            yield DiffRow(LineState.CHANGED, *sides)
        else:
            for line in filter(None, (before,)):
                yield DiffRow(LineState.REMOVED, DiffLine(line, left, is_new=True), None)
            for line in filter(None, (after,)):
                yield DiffRow(LineState.ADDED, None, DiffLine(line, right, is_new=True))


def _beside(before: Iterable[Line], after: Iterable[Line]) -> Iterator[_Pair]:
    """Lines of two renderings: equal ones beside each other, others one by one."""
    old, new = list(before), list(after)
    for a, b, c, d, is_same in align([str(line) for line in old], [str(line) for line in new]):
        if is_same or b - a == d - c:
            yield from zip(old[a:b], new[c:d], strict=True)
        else:
            yield from ((line, None) for line in old[a:b])
            yield from ((None, line) for line in new[c:d])


def _pair_maps(
    place: Topology | None, before: Mapping[str, Any], after: Mapping[str, Any], path: FieldPath, depth: int
) -> Iterator[_Pair]:
    for name in sort_names({*before, *after}):
        element = "f:" + name
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        yield from _pair_field(below(place, element), name, old, new, (*path, element), depth)


def _pair_field(
    place: Topology | None, name: str, before: JSONValue, after: JSONValue, path: FieldPath, depth: int
) -> Iterator[_Pair]:
    if before is _ABSENT:
        yield from ((None, line) for line in render_field(place, name, after, path, depth))
    elif after is _ABSENT:
        yield from ((line, None) for line in render_field(place, name, before, path, depth))
    elif _is_filled(before, Mapping) and _is_filled(after, Mapping):
        head = Line(path, depth, f"{write_scalar(name)}:")
        yield head, head
        yield from _pair_maps(place, before, after, path, depth + 1)
    elif _is_filled(before, list) and _is_filled(after, list):
        head = Line(path, depth, f"{write_scalar(name)}:")
        yield head, head
        yield from _pair_lists(place, before, after, path, depth)
    elif place is not None and place.is_quantity and is_equal_in_meaning(before, after):
        lines = [Line(path, depth, f"{write_scalar(name)}: {write_scalar(v)}") for v in (before, after)]
        yield lines[0]._replace(meaning=lines[1].text), lines[1]._replace(meaning=lines[1].text)
    else:
        before, after = _lay_out(before, after)
        yield from _beside(
            render_field(place, name, before, path, depth), render_field(place, name, after, path, depth)
        )


def _is_filled(value: JSONValue, kind: Any) -> bool:
    return isinstance(value, kind) and bool(value)


def _lay_out(before: JSONValue, after: JSONValue) -> tuple[JSONValue, JSONValue]:
    """Two texts that are JSON and differ, with one field a line."""
    texts = [before, after]
    if before == after or not all(isinstance(t, str) and t[:1] in ("{", "[") for t in texts):
        return before, after
    try:
        values = [json.loads(t) for t in texts]
    except (ValueError, RecursionError):
        return before, after
    laid = [json.dumps(v, indent=2, sort_keys=True, ensure_ascii=False) for v in values]
    # Only the layout differs, or the layout would hide something: the texts themselves are shown.
    if laid[0] == laid[1] or not all(map(is_block, laid)):
        return before, after
    return laid[0], laid[1]


def _pair_lists(
    place: Topology | None, before: list[Any], after: list[Any], path: FieldPath, depth: int
) -> Iterator[_Pair]:
    old, new = name_entries(place, before), name_entries(place, after)
    if old[0][0] == "i" or new[0][0] == "i":
        yield from _pair_by_position(place, before, after, path, depth)
        return
    left = dict(zip(old, before, strict=True))
    right = dict(zip(new, after, strict=True))
    for element in _interleave(old, new):
        yield from _pair_entry(
            below(place, element),
            left.get(element, _ABSENT),
            right.get(element, _ABSENT),
            (*path, element),
            depth,
        )


def _interleave(old: list[PathElement], new: list[PathElement]) -> Iterator[PathElement]:
    """Entries in their order after; what is gone stands behind the entry that it followed."""
    remaining = set(new)
    gone_after: dict[PathElement, list[PathElement]] = {}
    anchor = ""
    for element in old:
        if element in remaining:
            anchor = element
        else:
            gone_after.setdefault(anchor, []).append(element)
    yield from gone_after.get("", ())
    for element in new:
        yield element
        yield from gone_after.get(element, ())


def _pair_by_position(
    place: Topology | None, before: list[Any], after: list[Any], path: FieldPath, depth: int
) -> Iterator[_Pair]:
    texts = [[canonical_json(e) for e in entries] for entries in (before, after)]
    item = below(place, "i:0")
    for a, b, c, d, _ in align(*texts):
        for n in range(max(b - a, d - c)):
            old = before[a + n] if a + n < b else _ABSENT
            new = after[c + n] if c + n < d else _ABSENT
            position = c + n if new is not _ABSENT else a + n
            yield from _pair_entry(item, old, new, (*path, f"i:{position}"), depth)


def _pair_entry(
    place: Topology | None, before: JSONValue, after: JSONValue, path: FieldPath, depth: int
) -> Iterator[_Pair]:
    if before is _ABSENT:
        yield from ((None, line) for line in render_entry(place, after, path, depth))
    elif after is _ABSENT:
        yield from ((line, None) for line in render_entry(place, before, path, depth))
    elif _is_filled(before, Mapping) and _is_filled(after, Mapping) and not is_same_json(before, after):
        yield from _dash(_pair_maps(place, before, after, path, depth + 1), depth)
    else:
        yield from _beside(render_entry(place, before, path, depth), render_entry(place, after, path, depth))


def _dash(pairs: Iterable[_Pair], depth: int) -> Iterator[_Pair]:
    """Begin an entry on both sides: the first line of each gets the dash."""
    is_open = [True, True]
    for pair in pairs:
        sides: list[Line | None] = list(pair)
        for side, line in enumerate(pair):
            if line is not None and is_open[side]:
                sides[side] = Line(line.path, depth, f"- {line.text}", is_entry=True, meaning=line.meaning)
                is_open[side] = False
        yield sides[0], sides[1]
