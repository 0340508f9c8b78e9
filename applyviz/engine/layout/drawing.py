"""Draw a whole picture: the main part in layers, and below it the band of unconnected boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from applyviz.engine.layout.band import place_band
from applyviz.engine.layout.model import TOP, Box, Line, Picture
from applyviz.engine.layout.routes import route
from applyviz.engine.layout.rows import place_rows

_HEADING = 40
_BELOW = 24


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, the columns of its boxes, and the top of its band; 0 without one."""

    picture: Picture
    columns: dict[int, int] = field(default_factory=dict)
    band: int = 0


def draw(main: Sequence[Box], band: Sequence[Box], lines: Sequence[Line], *, middle: int) -> Drawing:
    """Return the picture of boxes and lines; lines between the two parts are left out."""
    in_main, in_band = {box.number for box in main}, {box.number for box in band}
    above = [line for line in lines if line.source in in_main and line.target in in_main]
    below = [line for line in lines if line.source in in_band and line.target in in_band]
    tops = place_rows(main, above, middle=middle)
    bottom = max((tops[box.number] + box.pitch for box in main), default=TOP - _HEADING)
    placed, low = place_band(band, below, bottom + _HEADING)
    paths = {**route(main, above, tops), **route(placed, below, low)}
    ends = [bottom, *(low[box.number] + box.pitch for box in placed)]
    columns = {box.number: box.column for box in (*main, *placed)}
    return Drawing(Picture({**tops, **low}, paths, max(ends) + _BELOW), columns, bottom if placed else 0)
