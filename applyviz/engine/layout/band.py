"""Place the boxes that are not connected to the main picture: small chains and single boxes, in rows below it.

Rule: a chain gets a separate row as long as it fits, from source to target; single boxes fill the remaining positions,
in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from applyviz.engine.layout.model import COLUMNS, PITCH, Box, Line
from applyviz.engine.layout.rows import list_neighbors
from applyviz.engine.objects.structs import replace


def _list_chains(boxes: Sequence[Box], lines: Sequence[Line]) -> list[list[int]]:
    """Return groups of connected boxes, sources first."""
    neighbors = list_neighbors(boxes, lines)
    sources = {line.source for line in lines}
    seen: set[int] = set()
    chains = []
    starts = sorted((box.number for box in boxes), key=lambda n: (n not in sources, n))
    for start in starts:
        if start in seen:
            continue
        chain, waiting = [], [start]
        seen.add(start)
        while waiting:
            number = waiting.pop(0)
            chain.append(number)
            beside = [n for n in neighbors[number] if n not in seen]
            seen.update(beside)
            waiting.extend(beside)
        chains.append(chain)
    return sorted(chains, key=lambda chain: (len(chain) == 1, chain[0]))


def place_band(boxes: Sequence[Box], lines: Sequence[Line], top: int) -> tuple[list[Box], dict[int, int]]:
    """Return the boxes with their columns, and their tops."""
    by_number = {box.number: box for box in boxes}
    placed, tops = [], {}
    column = row = 0
    for chain in _list_chains(boxes, lines):
        if column and column + len(chain) > len(COLUMNS):
            column, row = 0, row + 1
        for number in chain:
            if column == len(COLUMNS):
                column, row = 0, row + 1
            old = by_number[number]
            placed.append(replace(old, column=column))
            tops[number] = top + row * PITCH + (9 if old.is_pill else 0)
            column += 1
    return placed, tops
