"""Draw a whole picture: the main part in layers, and below it the band of unconnected boxes; both group by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from applyviz.engine.layout.band import place_band
from applyviz.engine.layout.model import TOP, Box, Line, Picture
from applyviz.engine.layout.routes import route
from applyviz.engine.layout.rows import place_rows

_HEADING = 40
_GROUP_HEADING = 24
_BELOW = 24
Placed: TypeAlias = tuple[list[Box], dict[int, int]]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, the columns of its boxes, the top of its band (0 without one), and where each group begins.

    - `groups`: pairs of a group and its top; a part that has only one group has no heading for it.
    """

    picture: Picture
    columns: dict[int, int] = field(default_factory=dict)
    band: int = 0
    groups: tuple[tuple[int, int], ...] = ()


@dataclass
class _Part:
    """One part of a picture: its boxes with their columns, their tops, the beginnings of groups, and its bottom."""

    bottom: int
    boxes: list[Box] = field(default_factory=list)
    tops: dict[int, int] = field(default_factory=dict)
    groups: list[tuple[int, int]] = field(default_factory=list)


def _select(lines: Sequence[Line], boxes: Sequence[Box]) -> list[Line]:
    inside = {box.number for box in boxes}
    return [line for line in lines if line.source in inside and line.target in inside]


def _stack_groups(boxes: Sequence[Box], top: int, arrange: Callable[[list[Box], int], Placed]) -> _Part:
    """Place the groups one below the other, each with a heading if there are several."""
    part = _Part(top)
    groups = sorted({box.group for box in boxes})
    for group in groups:
        members = [box for box in boxes if box.group == group]
        if len(groups) > 1:
            part.groups.append((group, part.bottom))
            part.bottom += _GROUP_HEADING
        placed, tops = arrange(members, part.bottom)
        part.boxes += placed
        part.tops |= tops
        part.bottom = max(tops[box.number] + box.pitch for box in placed)
    return part


def draw(main: Sequence[Box], band: Sequence[Box], lines: Sequence[Line], *, middle: int) -> Drawing:
    """Return the picture of boxes and lines; lines between the two parts are left out."""
    above, below = _select(lines, main), _select(lines, band)

    def place_main(boxes: list[Box], top: int) -> Placed:
        return boxes, place_rows(boxes, _select(above, boxes), middle=middle, top=top)

    def place_low(boxes: list[Box], top: int) -> Placed:
        return place_band(boxes, _select(below, boxes), top)

    upper = _stack_groups(main, TOP if main else TOP - _HEADING, place_main)
    lower = _stack_groups(band, upper.bottom + _HEADING, place_low)
    paths = {**route(upper.boxes, above, upper.tops), **route(lower.boxes, below, lower.tops)}
    bottom = lower.bottom if band else upper.bottom
    return Drawing(
        Picture({**upper.tops, **lower.tops}, paths, bottom + _BELOW),
        {box.number: box.column for box in (*upper.boxes, *lower.boxes)},
        upper.bottom if band else 0,
        (*upper.groups, *lower.groups),
    )
