"""Draw a whole picture: the main part in layers, and below it the band of unconnected boxes; both group by group.

Rule: groups are below each other; in the band, groups of one row are side by side as long as they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from applyviz.engine.layout.band import place_band
from applyviz.engine.layout.model import COLUMNS, TOP, Box, Line, Picture
from applyviz.engine.layout.routes import route
from applyviz.engine.layout.rows import place_rows
from applyviz.engine.objects.structs import replace

_HEADING = 40
_GROUP_HEADING = 20
_BELOW = 12
# The columns of a small group beside another one: wide enough for the name of nearly every namespace.
_NARROWEST = 2
Placed: TypeAlias = tuple[list[Box], dict[int, int]]


class Drawing(msgspec.Struct, frozen=True):
    """A picture, the columns of its boxes, the top of its band (0 without one), and where each group begins.

    - `groups`: a group, its first column and its top; a part that has only one group has no heading for it.
    """

    picture: Picture
    columns: dict[int, int] = msgspec.field(default_factory=dict)
    band: int = 0
    groups: tuple[tuple[int, int, int], ...] = ()


@dataclass
class _Part:
    """One part of a picture: its boxes with their columns, their tops, the beginnings of groups, and its bottom.

    - `top`, `used`: where the last row of groups begins, and how many of its columns are taken.
    """

    bottom: int
    boxes: list[Box] = field(default_factory=list)
    tops: dict[int, int] = field(default_factory=dict)
    groups: list[tuple[int, int, int]] = field(default_factory=list)
    top: int = 0
    used: int = len(COLUMNS)

    def begin(self, width: int) -> int:
        """Make room for a group beside the last one if it fits, else below it; return its first column."""
        if self.used + width > len(COLUMNS):
            self.top, self.used = self.bottom, 0
        self.used += width
        return self.used - width

    def add(self, boxes: Sequence[Box], tops: Mapping[int, int]) -> None:
        """Add placed boxes at the bottom."""
        self.boxes += boxes
        self.tops |= tops
        self.bottom = max(self.bottom, *(tops[box.number] + box.pitch for box in boxes))


def _select(lines: Sequence[Line], boxes: Sequence[Box]) -> list[Line]:
    inside = {box.number for box in boxes}
    return [line for line in lines if line.source in inside and line.target in inside]


def _count_columns(boxes: Sequence[Box]) -> int:
    """Return how many columns a group of the band takes."""
    return min(max(len(boxes), _NARROWEST), len(COLUMNS))


def _place_groups(
    boxes: Sequence[Box],
    top: int,
    arrange: Callable[[list[Box], int], Placed],
    count_columns: Callable[[list[Box]], int] = lambda _: len(COLUMNS),
) -> _Part:
    """Place the groups, each with a heading if there are several: side by side as long as they fit, else below.

    - `arrange`: places the boxes of one group, from the first column; `count_columns`: how many they take.
    """
    part = _Part(top)
    groups = sorted({box.group for box in boxes})
    heading = _GROUP_HEADING if len(groups) > 1 else 0
    for group in groups:
        members = [box for box in boxes if box.group == group]
        first = part.begin(count_columns(members))
        if heading:
            part.groups.append((group, first, part.top))
        placed, tops = arrange(members, part.top + heading)
        part.add([replace(box, column=box.column + first) for box in placed], tops)
    return part


def draw(main: Sequence[Box], band: Sequence[Box], lines: Sequence[Line], *, middle: int) -> Drawing:
    """Return the picture of boxes and lines; lines between the two parts are left out."""
    above, below = _select(lines, main), _select(lines, band)

    def place_main(boxes: list[Box], top: int) -> Placed:
        return boxes, place_rows(boxes, _select(above, boxes), middle=middle, top=top)

    def place_low(boxes: list[Box], top: int) -> Placed:
        return place_band(boxes, _select(below, boxes), top)

    upper = _place_groups(main, TOP if main else TOP - _HEADING, place_main)
    lower = _place_groups(band, upper.bottom + _HEADING, place_low, _count_columns)
    paths = {**route(upper.boxes, above, upper.tops), **route(lower.boxes, below, lower.tops)}
    bottom = lower.bottom if band else upper.bottom
    return Drawing(
        Picture({**upper.tops, **lower.tops}, paths, bottom + _BELOW),
        {box.number: box.column for box in (*upper.boxes, *lower.boxes)},
        upper.bottom if band else 0,
        (*upper.groups, *lower.groups),
    )
