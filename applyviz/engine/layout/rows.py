"""The order of boxes in their columns, and their tops.

Rule: the layered drawing of Sugiyama, with given columns: the middle column keeps the order of the first column's
lines;
every other box gets the mean height of its neighbors (barycenter), in two passes, and moves down below the boxes above
it. Ties keep the order of the numbers, so that one input has one picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from applyviz.engine.layout.model import TOP, Box, Line

Neighbors = Mapping[int, Sequence[int]]


def list_neighbors(boxes: Iterable[Box], lines: Iterable[Line]) -> dict[int, list[int]]:
    """Return the boxes beside each box, each of them once, in the order of the lines."""
    found: dict[int, dict[int, None]] = {box.number: {} for box in boxes}
    for line in lines:
        found[line.source][line.target] = None
        found[line.target][line.source] = None
    return {number: list(beside) for number, beside in found.items()}


def order_middle(boxes: Sequence[Box], neighbors: Neighbors, middle: int) -> list[Box]:
    """Return the boxes of the middle column in the order in which the columns before it lead to them."""
    by_number = {box.number: box for box in boxes}
    found: dict[int, None] = {}

    def visit(number: int) -> None:
        box = by_number[number]
        if box.column == middle:
            found[number] = None
            return
        for beside in neighbors[number]:
            if box.column < by_number[beside].column <= middle:
                visit(beside)

    for column in range(middle + 1):
        for box in boxes:
            if box.column == column:
                visit(box.number)
    return [by_number[number] for number in found]


def spread(wishes: Sequence[tuple[float, Box]], top: int) -> dict[int, int]:
    """Return the tops nearest to the preferred ones without overlaps, in the order of the preferences.

    - Boxes that would overlap form a block, at the average of their preferences.
    """
    blocks: list[tuple[float, int, list[tuple[int, Box]]]] = []
    for wish, box in sorted(wishes, key=lambda one: (one[0], one[1].number)):
        start, size, members = max(wish, float(top)), box.pitch, [(0, box)]
        while blocks and blocks[-1][0] + blocks[-1][1] > start:
            before, length, others = blocks.pop()
            share = len(others) / (len(others) + len(members))
            start = max(float(top), before * share + (start - length) * (1 - share))
            members = others + [(length + offset, one) for offset, one in members]
            size += length
        blocks.append((start, size, members))
    return {box.number: round(start) + offset for start, _, members in blocks for offset, box in members}


def _mean(number: int, neighbors: Neighbors, centers: Mapping[int, float], distance: Mapping[int, int]) -> float | None:
    """Return the mean height of the neighbors nearer to the middle, else of all placed neighbors."""
    known = [beside for beside in neighbors[number] if beside in centers]
    nearer = [beside for beside in known if distance[beside] < distance[number]]
    chosen = nearer or known
    return sum(centers[beside] for beside in chosen) / len(chosen) if chosen else None


def _stack(boxes: Iterable[Box], top: int) -> dict[int, int]:
    tops = {}
    for box in boxes:
        tops[box.number] = top
        top += box.pitch
    return tops


def place_rows(boxes: Sequence[Box], lines: Sequence[Line], *, middle: int, top: int = TOP) -> dict[int, int]:
    """Return the top of every box.

    - `middle`: the column whose boxes are stacked without gaps; the other columns follow it.
    """
    neighbors = list_neighbors(boxes, lines)
    tops = _stack(order_middle(boxes, neighbors, middle), top)
    by_column: dict[int, list[Box]] = {}
    for box in boxes:
        by_column.setdefault(box.column, []).append(box)
    outward = sorted((c for c in by_column if c != middle), key=lambda c: (abs(c - middle), c))
    heights = {box.number: box.height for box in boxes}
    distance = {box.number: abs(box.column - middle) for box in boxes}
    for _ in range(2):
        for column in outward:
            # Boxes without a preferred height go to the end of their column.
            centers = {n: y + heights[n] / 2 for n, y in tops.items()}
            last = max(tops.values(), default=top)
            wishes = []
            for box in by_column[column]:
                mean = _mean(box.number, neighbors, centers, distance)
                wishes.append((last if mean is None else mean - box.height / 2, box))
            tops.update(spread(wishes, top))
    return tops
