"""The paths of lines: straight where boxes stand side by side, curved elsewhere, and a bus where many lead to one box.

Rule: six or more lines from another column to one box share a trunk in the gap before it. Lines leave a box at its
right
side and reach the next one at its left side, each at a separate height, so that they do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from applyviz.engine.layout.model import COLUMNS, WIDTH, Box, Line

BUS_FROM = 6
_TRUNK = 46
_BETWEEN = 8
_BEND = 6


def find_buses(boxes: Mapping[int, Box], lines: Iterable[Line]) -> dict[int, int]:
    """Return the boxes that have a trunk, with its place; further trunks of a column stand left of the first."""
    counts: dict[int, int] = {}
    for line in lines:
        if boxes[line.source].column < boxes[line.target].column:
            counts[line.target] = counts.get(line.target, 0) + 1
    found: dict[int, int] = {}
    used: dict[int, int] = {}
    for number in sorted(counts):
        if counts[number] >= BUS_FROM:
            column = boxes[number].column
            found[number] = COLUMNS[column] - _TRUNK - _BETWEEN * used.get(column, 0)
            used[column] = used.get(column, 0) + 1
    return found


def _spread_ports(box: Box, count: int) -> list[float]:
    """Return the heights within a box for a number of line ends."""
    step = min(8.0, (box.height - 12) / max(1, count - 1))
    return [box.height / 2 + (n - (count - 1) / 2) * step for n in range(count)]


def _list_ports(
    boxes: Mapping[int, Box], lines: Sequence[Line], tops: Mapping[int, int], *, out: bool
) -> dict[Line, int]:
    """Return the height of each line at one of its ends, ordered by the box at the other end."""
    by_box: dict[int, list[Line]] = {}
    for line in lines:
        by_box.setdefault(line.source if out else line.target, []).append(line)
    found = {}
    for number, mine in by_box.items():
        ordered = sorted(mine, key=lambda line: (tops[line.target if out else line.source], line.source, line.target))
        for line, offset in zip(ordered, _spread_ports(boxes[number], len(ordered)), strict=True):
            found[line] = round(tops[number] + offset)
    return found


def _curve(x1: int, y1: int, x2: int, y2: int) -> str:
    if y1 == y2:
        return f"M{x1} {y1}H{x2}"
    # The curve keeps to the last gap, so that it crosses no column in between.
    bend = min(48, x2 - x1)
    start = x2 - bend
    middle = start + bend // 2
    lead = f"H{start}" if start > x1 else ""
    return f"M{x1} {y1}{lead}C{middle} {y1} {middle} {y2} {x2} {y2}"


def _ride(x1: int, y1: int, trunk: int, x2: int, y2: int) -> str:
    """Return the path along a bus: to the trunk, along it, and on to the box."""
    if abs(y2 - y1) <= 2 * _BEND:
        return _curve(x1, y1, x2, y2)
    bend = _BEND if y2 > y1 else -_BEND
    first, second = f"Q{trunk} {y1} {trunk} {y1 + bend}", f"Q{trunk} {y2} {trunk + _BEND} {y2}"
    return f"M{x1} {y1}H{trunk - _BEND}{first}V{y2 - bend}{second}H{x2}"


def _loop(x: int, y1: int, y2: int) -> str:
    """Return the path between two boxes of one column: around their left sides."""
    return f"M{x} {y1}C{x - 16} {y1} {x - 16} {y2} {x} {y2}"


def route(boxes: Sequence[Box], lines: Sequence[Line], tops: Mapping[int, int]) -> dict[Line, str]:
    """Return the path of each line, as SVG writes it."""
    by_number = {box.number: box for box in boxes}
    buses = find_buses(by_number, lines)
    leaving = _list_ports(by_number, list(lines), tops, out=True)
    single = [line for line in lines if line.target not in buses]
    reaching = _list_ports(by_number, single, tops, out=False)
    found = {}
    for line in lines:
        source, target = by_number[line.source], by_number[line.target]
        if source.column == target.column:
            x = COLUMNS[source.column]
            found[line] = _loop(x, tops[source.number] + source.height // 2, tops[target.number] + target.height // 2)
            continue
        if source.column > target.column:
            start, end = target, source
            y1, y2 = reaching.get(line, tops[start.number] + start.height // 2), leaving[line]
        else:
            start, end = source, target
            y1, y2 = leaving[line], reaching.get(line, tops[end.number] + end.height // 2)
        x1, x2 = COLUMNS[start.column] + WIDTH, COLUMNS[end.column]
        on_bus = end is target and target.number in buses
        found[line] = _ride(x1, y1, buses[target.number], x2, y2) if on_bus else _curve(x1, y1, x2, y2)
    return found
