"""One version of an object as lines: marked, folded, in pages, searched."""

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Versions
from applyviz.web.reviews.pane.yaml_document import PAGE, present_document
from tests.web import builders


def make(live: dict, after: dict):
    change = builders.build_change()
    return replace(change, versions=Versions(live=live, after=after))


def test_lines_that_the_plan_moves_are_marked():
    found = present_document(make({"a": 1, "b": 1}, {"a": 1, "b": 2}), "after")

    assert [(line.number, line.text, line.is_marked) for line in found.lines] == [(1, "a: 1", False), (2, "b: 2", True)]
    assert found.marked == 1


def test_parts_of_four_lines_fold_and_every_part_is_closed():
    spec = {"replicas": 1, "labels": {"a": "1", "b": "2", "c": "3"}, "args": ["x", "y", "z"]}

    found = present_document(make({}, {"kind": "X", "spec": spec}), "after")

    assert [line.text for line in found.lines if line.opens] == ["spec:", "args:", "labels:"]
    assert sum(line.opens for line in found.lines) == sum(len(line.closes) for line in found.lines)
    assert found.lines[-1].text == "replicas: 1"
    assert found.lines[-1].closes == "x"


def test_long_version_comes_in_pages():
    obj = {"data": {f"key-{n:05}": n for n in range(2 * PAGE)}}
    change = make({**obj, "x": 0}, {**obj, "x": 1})

    first, second = present_document(change, "after"), present_document(change, "after", start=PAGE + 1)

    assert (first.first, first.last, first.before, first.after, first.next_marked) == (
        1,
        PAGE,
        0,
        PAGE + 1,
        2 * PAGE + 2,
    )
    assert (len(second.lines), second.lines[0].number, second.before, second.after) == (PAGE, PAGE + 1, 1, 2 * PAGE + 1)
    assert len(present_document(change, "after", start=10**6).lines) == 1


def test_search_shows_what_it_finds_with_the_lines_around_it():
    obj = {f"key-{n:02}": "needle" if n in (3, 30) else "hay" for n in range(40)}

    found = present_document(make({}, obj), "after", find=" NEEDLE ")

    assert found.found == 2
    assert [line.number for line in found.lines] == [2, 3, 4, 5, 6, 0, 29, 30, 31, 32, 33]
    assert [line.number for line in found.lines if line.is_found] == [4, 31]


def test_long_line_is_cut():
    assert len(present_document(make({}, {"a": "x" * 5000}), "after").lines[0].text) == 1001
