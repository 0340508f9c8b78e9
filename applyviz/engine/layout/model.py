"""A layered picture as data: boxes in columns, lines between them, and their positions in pixels.

All coordinates are whole pixels from the top left corner. A picture is drawn at 1:1, so its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

COLUMNS = (20, 232, 444, 748, 960)
"""Where each column begins."""
WIDTH = 176
HEIGHT = 40
PILL = 22
PITCH = 48
DOCKED = 66
"""The distance from the top of one box to the top of the next: without docks, and with a row of docks below."""
TOP = 44
PICTURE = 1152


class Box(Struct, frozen=True):
    """A box of a picture; `number` identifies it, `column` counts from 0.

    - `is_pill`: it is small; `has_docks`: it has a row of docks below it.
    - `group`: boxes of a group stand together, below those of the group before it.
    """

    number: int
    column: int
    is_pill: bool = False
    has_docks: bool = False
    group: int = 0

    @property
    def height(self) -> int:
        """Its own height."""
        return PILL if self.is_pill else HEIGHT

    @property
    def pitch(self) -> int:
        """The height of the box with its docks and the gap below."""
        return DOCKED if self.has_docks else PITCH - HEIGHT + self.height


class Line(Struct, frozen=True):
    """A line from one box to another one, by their numbers."""

    source: int
    target: int


class Picture(Struct, frozen=True):
    """The positions of a picture: the top of each box, the path of each line, the total height."""

    tops: Mapping[int, int] = field(default_factory=dict)
    paths: Mapping[Line, str] = field(default_factory=dict)
    height: int = 0
