"""Where boxes and lines stand: as text pictures, and the same for the same input in any order."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from applyviz.engine.layout.band import place_band
from applyviz.engine.layout.drawing import Drawing, draw
from applyviz.engine.layout.model import COLUMNS, DOCKED, HEIGHT, PILL, PITCH, TOP, WIDTH, Box, Line
from applyviz.engine.layout.routes import BUS_FROM, find_nets, route
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


def trace(path: str) -> list[tuple[float, float]]:
    """Return points along a path, close enough to each other to meet every box on the way."""
    points: list[tuple[float, float]] = []
    for letter, text in re.findall(r"([MHVCQ])([^MHVCQ]*)", path):
        n = [float(one) for one in text.split()]
        if letter == "M":
            points.append((n[0], n[1]))
            continue
        x, y = points[-1]
        straight = [(n[0], y)] if letter == "H" else [(x, n[0])]
        corners = straight if letter in "HV" else list(zip(n[::2], n[1::2], strict=True))
        bent = [(x, y), *corners]
        for step in range(1, 101):
            points.append(bend(bent, step / 100))
    return points


def bend(points: list[tuple[float, float]], at: float) -> tuple[float, float]:
    """Return the point of a Bézier curve, or of a straight line."""
    while len(points) > 1:
        points = [(a[0] + (b[0] - a[0]) * at, a[1] + (b[1] - a[1]) * at) for a, b in pairwise(points)]
    return points[0]


def find_crossed(boxes: list[Box], drawing: Drawing) -> set[tuple[Line, int]]:
    """Return each line with the boxes that it runs through."""
    tops, columns = drawing.picture.tops, drawing.columns
    areas = [(box.number, COLUMNS[columns[box.number]], tops[box.number], box.height) for box in boxes]
    found = set()
    for line, path in drawing.picture.paths.items():
        for x, y in trace(path):
            for number, left, top, height in areas:
                if left < x < left + WIDTH and top < y < top + height:
                    found.add((line, number))
    return found


@pytest.mark.core(2)
@pytest.mark.covering
@pytest.mark.parametrize("seed", range(8))
def test_lines_run_around_boxes_and_never_through_them(seed: int) -> None:
    numbers = random.Random(seed)
    boxes = [Box(n, numbers.randrange(5), numbers.random() < 0.2, numbers.random() < 0.2) for n in range(60)]
    band = [Box(100 + n, 0, numbers.random() < 0.3) for n in range(12)]
    pairs = [(numbers.choice(boxes), numbers.choice(boxes)) for _ in range(110)]
    pairs += [(numbers.choice(band), numbers.choice(band)) for _ in range(14)]
    lines = list(dict.fromkeys(Line(a.number, b.number) for a, b in pairs if a.number != b.number))

    drawing = draw(boxes, band, lines, middle=2)

    assert len(drawing.picture.paths) == len(lines)
    assert find_crossed([*boxes, *band], drawing) == set()


@pytest.mark.parametrize("is_in", [True, False])
@pytest.mark.parametrize("columns", [(2, 3), (2, 4), (0, 1), (3, 4), (1, 3)])
def test_a_fan_shares_one_trunk_in_each_gap(columns: tuple[int, int], is_in: bool) -> None:
    left, right = columns
    one, many = (right, left) if is_in else (left, right)
    boxes = [*(Box(n, many) for n in range(BUS_FROM)), Box(50, one), Box(51, 3), Box(52, 3)]
    lines = [Line(n, 50) if is_in else Line(50, n) for n in range(BUS_FROM)]

    nets = find_nets({box.number: box for box in boxes}, lines)
    drawing = draw(boxes, [], lines, middle=2)

    assert set(nets.values()) == {("in" if is_in else "out", 50, 0)}
    trunks = [re.findall(r"Q(\d+) ", path) for path in drawing.picture.paths.values()]
    assert len({x for found in trunks for x in found}) <= right - left
    last = {path.rpartition("H")[2] if is_in else path.partition("H")[0] for path in drawing.picture.paths.values()}
    assert len(last) == 1, "they have one end together"
    assert find_crossed(boxes, drawing) == set()


def test_few_lines_to_one_box_have_no_trunk() -> None:
    boxes = [*(Box(n, 2) for n in range(BUS_FROM - 1)), Box(50, 3)]
    lines = [Line(n, 50) for n in range(BUS_FROM - 1)]

    paths = route(boxes, lines, place_rows(boxes, lines, middle=2))

    assert not any("Q" in path for path in paths.values())


def test_groups_stand_below_each_other_and_have_a_heading_if_there_are_several() -> None:
    boxes = [Box(1, 2, group=1), Box(2, 2), Box(3, 1)]
    band = [Box(4, 0), Box(5, 0, group=1)]

    drawing = draw(boxes, band, [Line(3, 1), Line(3, 2)], middle=2)

    assert [group for group, *_ in drawing.groups] == [0, 1, 0, 1]
    tops = drawing.picture.tops
    assert tops[2] < tops[1]
    assert [tops[2], tops[1]] == [top + 20 for *_, top in drawing.groups[:2]]
    assert draw(boxes[1:], [], [], middle=2).groups == ()


def test_small_groups_of_the_band_are_side_by_side_while_they_fit() -> None:
    sizes = (6, 2, 1, 2, 3)
    band = [Box(10 * group + n, 0, group=group) for group, size in enumerate(sizes) for n in range(size)]

    drawing = draw([], band, [], middle=2)

    columns, tops = drawing.columns, drawing.picture.tops
    assert [(group, at) for group, at, _ in drawing.groups] == [(0, 0), (1, 0), (2, 2), (3, 0), (4, 2)]
    assert [columns[n] for n in (10, 11, 20, 30, 31, 40, 41, 42)] == [0, 1, 2, 0, 1, 2, 3, 4]
    assert [tops[10], tops[11], tops[20]] == [drawing.groups[1][2] + 20] * 3
    assert tops[30] == tops[40] == tops[10] + PITCH + 20
    assert len({(columns[n], tops[n]) for n in tops}) == len(band)


def test_lines_go_from_left_to_right_around_a_column_and_back() -> None:
    boxes = [Box(1, 2), Box(2, 3), Box(3, 3), Box(4, 4)]
    tops = {1: 44, 2: 44, 3: 92, 4: 200}
    lines = [Line(1, 2), Line(2, 3), Line(4, 1), Line(1, 4)]

    paths = route(boxes, lines, tops)

    assert paths[Line(2, 3)] == f"M{COLUMNS[3]} 64C{COLUMNS[3] - 16} 64 {COLUMNS[3] - 16} 112 {COLUMNS[3]} 112"
    assert paths[Line(1, 2)].startswith("M620 ")
    assert paths[Line(4, 1)].startswith("M620 ")
    assert {paths[line].rpartition(" ")[2] for line in (Line(4, 1), Line(1, 4))} == {"216H960", "224H960"}
    assert all(re.search(r" (40|88|90)H", paths[line]) for line in (Line(4, 1), Line(1, 4))), "between two boxes"


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
