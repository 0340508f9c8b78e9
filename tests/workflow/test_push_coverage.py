"""Which commits no known push brought: plain pushes, gaps, force pushes, resets and histories that are cut off."""

import pytest

from applyviz.workflow.people.push_coverage import PushMove, find_unexplained, list_reachable, list_tips

# d - c - b - a, and x on top of a
LINE = {"d": ["c"], "c": ["b"], "b": ["a"], "a": [], "x": ["a"]}


def find(commits, *moves, graph=LINE, chosen="a", base=""):
    return find_unexplained(graph, tuple(commits), [PushMove(*move) for move in moves], chosen=chosen, base=base)


@pytest.mark.parametrize(
    ("commits", "moves", "unexplained"),
    [
        ("dcb", [("a", "d")], ""),
        ("dcb", [("a", "b"), ("b", "d")], ""),
        ("dcb", [("b", "d")], "b"),
        ("dcb", [], "dcb"),
        ("dcb", [("", "d")], ""),
        ("x", [("a", "d"), ("d", "x")], ""),
        ("dcb", [("b", "d"), ("d", "b"), ("b", "d")], "b"),
        ("dcba", [("a", "d")], ""),
    ],
)
def test_commits_without_a_push(commits, moves, unexplained):
    assert find(commits, *moves) == tuple(unexplained)


def test_force_push_from_what_only_pushes_tell():
    # y was on top of b, and is gone: what led to y says that b was pushed without being told
    assert find("dcb", ("a", "b"), ("b", "y"), ("y", "d")) == ()
    assert find("dcb", ("b", "y"), ("y", "d")) == ("b",)


def test_push_from_an_unknown_commit_explains_nothing():
    assert find("dcb", ("unknown", "d")) == ("d", "c", "b")


def test_base_and_chosen_commit_may_be_older_than_the_history():
    short = {"d": ["c"], "c": ["b"]}
    assert find("dc", ("old", "c"), ("c", "d"), graph=short, chosen="old") == ()
    assert find("dc", ("old", "c"), ("c", "d"), graph=short, chosen="gone", base="old") == ()
    assert find("dc", ("old", "d"), graph=short, chosen="gone") == ("d", "c")


def test_pushers_of_removed_tips_count():
    moves = [PushMove("a", "y"), PushMove("y", "z"), PushMove("z", "d"), PushMove("q", "r")]
    assert list_tips(LINE, "dcb", moves) == {"d", "c", "b", "z", "y"}


def test_cycles_of_hostile_moves_end():
    assert find("dcb", ("y", "z"), ("z", "y"), ("y", "d")) == ("d", "c", "b")
    assert list_reachable({"a": ["b"], "b": ["a"]}, "a") == {"a", "b"}
