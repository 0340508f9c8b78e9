"""The paths of lines: around boxes and never through them, and one trunk for a fan.

Rule: a line runs in the gaps between columns, where no box is, and crosses a column between two of its boxes. A line to
the next column is straight or one curve; all other lines have right angles with round corners. Six or more lines that
leave one box or reach one box share a trunk in each gap. Lines leave a box at its right side and reach the next one at
its left side, each at a separate height. Cost: a search in a sorted list for each column that a line crosses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from applyviz.engine.layout.model import COLUMNS, WIDTH, Box, Line

BUS_FROM = 6
_TRUNK = 46
_LANE = 8
_TIGHT_LANE = 4
_BEND = 6
_BETWEEN = 8
"""The least distance of two boxes in a column."""
_CLEAR = 3
Net: TypeAlias = tuple[str, int, int]
"""The lines that share a trunk: all that reach a box, all that leave one, or one line alone."""


def _span(boxes: Mapping[int, Box], line: Line) -> tuple[Box, Box]:
    """Return the ends of a line from left to right."""
    source, target = boxes[line.source], boxes[line.target]
    return (target, source) if source.column > target.column else (source, target)


def find_nets(boxes: Mapping[int, Box], lines: Iterable[Line]) -> dict[Line, Net]:
    """Return which lines share a trunk; lines within a column have none."""
    crossing = [line for line in lines if boxes[line.source].column != boxes[line.target].column]
    reaching: dict[int, int] = {}
    leaving: dict[int, int] = {}
    for line in crossing:
        start, end = _span(boxes, line)
        leaving[start.number] = leaving.get(start.number, 0) + 1
        reaching[end.number] = reaching.get(end.number, 0) + 1
    found: dict[Line, Net] = {}
    for line in crossing:
        start, end = _span(boxes, line)
        into, out = reaching[end.number], leaving[start.number]
        if into >= BUS_FROM and into >= out:
            found[line] = ("in", end.number, 0)
        elif out >= BUS_FROM:
            found[line] = ("out", start.number, 0)
        else:
            found[line] = ("one", start.number, end.number)
    return found


class _Columns:
    """The free heights of each column, and the lanes of the gaps between columns."""

    def __init__(self, boxes: Iterable[Box], tops: Mapping[int, int]) -> None:
        self._taken: dict[int, list[tuple[int, int]]] = {}
        for box in boxes:
            top = tops[box.number]
            self._taken.setdefault(box.column, []).append((top, top + box.pitch - _BETWEEN))
        for taken in self._taken.values():
            taken.sort()
        self._lanes: dict[int, dict[Net, int]] = {}
        self._channels: dict[tuple[int, int], dict[Net, int]] = {}

    def find_lane(self, gap: int, net: Net) -> int:
        """Return the x of the trunk of a net in the gap after a column; each net of a gap has a separate lane."""
        lanes = self._lanes.setdefault(gap, {})
        left, right = COLUMNS[gap] + WIDTH, COLUMNS[gap + 1]
        is_wide = right - left > 2 * _TRUNK
        first, step = (_TRUNK, _LANE) if is_wide else (_BEND + _TIGHT_LANE, _TIGHT_LANE)
        room = max(1, (right - left - first - _BEND) // step + 1)
        return right - first - step * (lanes.setdefault(net, len(lanes)) % room)

    def find_height(self, column: int, wish: int, net: Net) -> int:
        """Return the height at which a net crosses a column: the wish, or the nearest one between two boxes."""
        taken = self._taken.get(column, [])
        at = bisect_right(taken, (wish, wish)) - 1
        for top, bottom in taken[max(at, 0) : at + 2]:
            if top - _CLEAR < wish < bottom + _CLEAR:
                above, below = top - _BETWEEN // 2, bottom + _BETWEEN // 2
                nearest = above if wish - above <= below - wish else below
                known = self._channels.setdefault((column, nearest), {})
                # Up to three nets pass between two boxes side by side.
                return nearest + (0, 2, -2)[known.setdefault(net, len(known)) % 3]
        return wish


def _spread_ports(box: Box, count: int) -> list[float]:
    """Return the heights within a box for a number of line ends."""
    step = min(8.0, (box.height - 12) / max(1, count - 1))
    return [box.height / 2 + (n - (count - 1) / 2) * step for n in range(count)]


def _list_ports(
    boxes: Mapping[int, Box], nets: Mapping[Line, Net], tops: Mapping[int, int], *, out: bool
) -> dict[Line, int]:
    """Return the height of each line at its left end or its right one, ordered by the box at the other end.

    - The lines of a trunk have one end together.
    """
    shared = "out" if out else "in"
    by_box: dict[int, dict[Net, list[Line]]] = {}
    for line, net in nets.items():
        start, end = _span(boxes, line)
        mine = by_box.setdefault((start if out else end).number, {})
        alone: Net = ("one", line.source, line.target)
        mine.setdefault(net if net[0] == shared else alone, []).append(line)

    def order(lines: Sequence[Line]) -> tuple[float, int, int]:
        ends = [_span(boxes, line)[1 if out else 0].number for line in lines]
        return sum(tops[n] for n in ends) / len(ends), min(line.source for line in lines), min(ends)

    found = {}
    for number, bundles in by_box.items():
        ordered = sorted(bundles.values(), key=order)
        for bundle, offset in zip(ordered, _spread_ports(boxes[number], len(ordered)), strict=True):
            found.update(dict.fromkeys(bundle, round(tops[number] + offset)))
    return found


def _curve(x1: int, y1: int, x2: int, y2: int) -> str:
    if y1 == y2:
        return f"M{x1} {y1}H{x2}"
    bend = min(48, x2 - x1)
    start = x2 - bend
    middle = start + bend // 2
    lead = f"H{start}" if start > x1 else ""
    return f"M{x1} {y1}{lead}C{middle} {y1} {middle} {y2} {x2} {y2}"


def _draw_steps(x1: int, y1: int, steps: Sequence[tuple[int, int]], x2: int) -> str:
    """Return the path with right angles: at each x of the steps on to its y, and at last to `x2`."""
    path, y = [f"M{x1} {y1}"], y1
    for x, to in steps:
        if to == y:
            continue
        bend = min(_BEND, abs(to - y) // 2)
        down = bend if to > y else -bend
        path.append(f"H{x - bend}Q{x} {y} {x} {y + down}V{to - down}Q{x} {to} {x + bend} {to}")
        y = to
    return "".join([*path, f"H{x2}"])


def _loop(x: int, y1: int, y2: int) -> str:
    """Return the path between two boxes of one column: around their left sides."""
    return f"M{x} {y1}C{x - 16} {y1} {x - 16} {y2} {x} {y2}"


class _Router(Struct, frozen=True):
    """Boxes with their places, and what is known of the room between them."""

    boxes: Mapping[int, Box]
    tops: Mapping[int, int]
    columns: _Columns

    def draw_loop(self, line: Line) -> str:
        """Return the path of a line within a column."""
        ends = [self.tops[n] + self.boxes[n].height // 2 for n in (line.source, line.target)]
        return _loop(COLUMNS[self.boxes[line.source].column], *ends)

    def draw(self, line: Line, net: Net, y1: int, y2: int) -> str:
        """Return the path of a line from one column to another one."""
        start, end = _span(self.boxes, line)
        x1, x2 = COLUMNS[start.column] + WIDTH, COLUMNS[end.column]
        if net[0] == "one" and end.column == start.column + 1:
            return _curve(x1, y1, x2, y2)
        wish = y2 if net[0] == "in" else y1
        steps = []
        for gap in range(start.column, end.column):
            is_last = gap == end.column - 1
            height = y2 if is_last else self.columns.find_height(gap + 1, wish, net)
            steps.append((self.columns.find_lane(gap, net), height))
        return _draw_steps(x1, y1, steps, x2)


def route(boxes: Sequence[Box], lines: Sequence[Line], tops: Mapping[int, int]) -> dict[Line, str]:
    """Return the path of each line, as SVG writes it."""
    by_number = {box.number: box for box in boxes}
    router = _Router(by_number, tops, _Columns(boxes, tops))
    nets = find_nets(by_number, lines)
    left, right = (_list_ports(by_number, nets, tops, out=out) for out in (True, False))
    return {
        line: router.draw(line, nets[line], left[line], right[line]) if line in nets else router.draw_loop(line)
        for line in lines
    }
