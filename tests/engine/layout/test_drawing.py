"""Where boxes and lines stand: as text pictures, and the same for the same input in any order."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from applyviz.engine.layout.band import place_band
from applyviz.engine.layout.drawing import draw
from applyviz.engine.layout.model import COLUMNS, DOCKED, HEIGHT, PILL, PITCH, TOP, Box, Line
from applyviz.engine.layout.routes import BUS_FROM, find_buses, route
from applyviz.engine.layout.rows import order_middle, place_rows, spread


def chain(count: int) -> tuple[list[Box], list[Line]]:
    """Entries that lead to as many Services, and these to as many workloads."""
    boxes = [Box(0, 0), *(Box(1 + n, 1) for n in range(count)), *(Box(100 + n, 2) for n in range(count))]
    lines = [Line(0, 1 + n) for n in range(count)] + [Line(1 + n, 100 + n) for n in range(count)]
    return boxes, lines


def test_boxes_of_a_chain_stand_in_one_row_and_the_entry_in_their_middle() -> None:
    boxes, lines = chain(3)

    tops = place_rows(boxes, lines, middle=2)

    assert [tops[n] for n in (100, 101, 102)] == [TOP, TOP + PITCH, TOP + 2 * PITCH]
    assert [tops[n] for n in (1, 2, 3)] == [tops[n] for n in (100, 101, 102)]
    assert tops[0] == tops[2]


def test_docks_and_pills_take_the_room_that_they_need() -> None:
    boxes = [Box(1, 2, has_docks=True), Box(2, 2, is_pill=True), Box(3, 2)]

    assert place_rows(boxes, [], middle=2) == {1: TOP, 2: TOP + DOCKED, 3: TOP + DOCKED + PITCH - HEIGHT + PILL}


def test_middle_column_keeps_the_order_in_which_it_is_reached() -> None:
    boxes = [Box(1, 2), Box(2, 2), Box(3, 1), Box(4, 0), Box(5, 3)]
    lines = [Line(4, 3), Line(3, 2), Line(1, 5)]

    assert [box.number for box in order_middle(boxes, {4: [3], 3: [4, 2], 2: [3], 1: [5], 5: [1]}, 2)] == [2, 1]
    assert place_rows(boxes, lines, middle=2)[5] == TOP + PITCH


def test_boxes_that_want_one_place_share_it_around_their_mean() -> None:
    boxes = [Box(n, 3) for n in range(3)]

    assert spread([(100.0, box) for box in boxes], TOP) == {0: 52, 1: 100, 2: 148}
    assert spread([(0.0, box) for box in boxes], TOP) == {0: TOP, 1: TOP + PITCH, 2: TOP + 2 * PITCH}


def test_box_without_a_neighbor_stands_at_the_end() -> None:
    boxes = [Box(1, 2), Box(2, 2), Box(3, 3)]

    assert place_rows(boxes, [], middle=2)[3] == TOP + PITCH
    assert place_rows([Box(3, 3)], [], middle=2) == {3: TOP}


@pytest.mark.parametrize("seed", range(5))
def test_no_two_boxes_overlap_and_order_of_input_changes_nothing(seed: int) -> None:
    numbers = random.Random(seed)
    boxes = [Box(n, numbers.randrange(5), numbers.random() < 0.2, numbers.random() < 0.2) for n in range(120)]
    pairs = ((numbers.choice(boxes), numbers.choice(boxes)) for _ in range(240))
    lines = list(dict.fromkeys(Line(a.number, b.number) for a, b in pairs if a.number != b.number))

    first = draw(boxes, [], lines, middle=2)
    again = draw(boxes, [], lines, middle=2)

    assert first == again
    for column in range(5):
        placed = sorted((first.picture.tops[box.number], box.height) for box in boxes if box.column == column)
        assert all(top + height <= below for (top, height), (below, _) in pairwise(placed))
    assert first.picture.height > max(first.picture.tops.values())


def test_many_lines_to_one_box_share_a_trunk() -> None:
    boxes = [*(Box(n, 2) for n in range(BUS_FROM)), Box(50, 3), Box(51, 3), Box(52, 3)]
    lines = [Line(n, target) for target in (50, 51) for n in range(BUS_FROM)] + [Line(0, 52)]

    buses = find_buses({box.number: box for box in boxes}, lines)
    paths = route(boxes, lines, place_rows(boxes, lines, middle=2))

    assert sorted(buses) == [50, 51]
    assert buses[50] - buses[51] == 8
    assert {re.search(r"V|C|H", path[1:]).group() for path in paths.values()} <= {"H", "C"}
    on_trunk = [path for line, path in paths.items() if line.target == 50 and "V" in path]
    assert len(on_trunk) >= BUS_FROM - 2
    assert all(f"Q{buses[50]} " in path for path in on_trunk)
    assert "Q" not in paths[Line(0, 52)]


def test_lines_go_from_left_to_right_around_a_column_and_back() -> None:
    boxes = [Box(1, 2), Box(2, 3), Box(3, 3), Box(4, 4)]
    tops = {1: 44, 2: 44, 3: 92, 4: 200}
    lines = [Line(1, 2), Line(2, 3), Line(4, 1), Line(1, 4)]

    paths = route(boxes, lines, tops)

    assert paths[Line(2, 3)] == f"M{COLUMNS[3]} 64C{COLUMNS[3] - 16} 64 {COLUMNS[3] - 16} 112 {COLUMNS[3]} 112"
    assert paths[Line(1, 2)].startswith("M620 ")
    assert paths[Line(4, 1)].startswith("M620 ")
    assert paths[Line(4, 1)].endswith("960 220")
    assert "H912C936" in paths[Line(1, 4)]


def test_chains_of_the_band_stand_in_rows_and_single_boxes_fill_them() -> None:
    boxes = [Box(n, 0, is_pill=n == 7) for n in range(9)]
    lines = [Line(1, 0), Line(1, 2), Line(3, 4), Line(3, 5), Line(3, 6)]

    placed, tops = place_band(boxes, lines, 500)

    assert [(box.number, box.column) for box in placed] == [
        (1, 0), (0, 1), (2, 2), (3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 0),
    ]  # fmt: skip
    assert [tops[n] for n in (1, 3, 7, 8)] == [500, 500 + PITCH, 509 + PITCH, 500 + 2 * PITCH]


def test_chain_longer_than_a_row_goes_on_in_the_next_one() -> None:
    boxes = [Box(n, 0) for n in range(7)]

    placed, tops = place_band(boxes, [Line(0, n) for n in range(1, 7)], 100)

    assert [box.column for box in placed] == [0, 1, 2, 3, 4, 0, 1]
    assert tops[6] == 100 + PITCH


def test_band_stands_below_the_main_part_and_lines_between_them_are_left_out() -> None:
    drawing = draw([Box(1, 2)], [Box(2, 0), Box(3, 0)], [Line(2, 1), Line(2, 3)], middle=2)

    assert drawing.band == TOP + PITCH
    assert drawing.picture.tops[2] > drawing.band
    assert list(drawing.picture.paths) == [Line(2, 3)]
    assert draw([Box(1, 2)], [], [], middle=2).band == 0
    assert draw([], [], [], middle=2).picture.tops == {}
