"""Texts are aligned by their longest equal runs, also where a text repeats a few lines hundreds of times."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.words import align


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        ("", "", []),
        ("ab", "ab", [(0, 2, 0, 2, True)]),
        ("ab", "", [(0, 2, 0, 0, False)]),
        ("axbyc", "a1b2c", [(0, 1, 0, 1, True), (1, 2, 1, 2, False), (2, 3, 2, 3, True), (3, 4, 3, 4, False),
                            (4, 5, 4, 5, True)]),
        ("xaby", "zabw", [(0, 1, 0, 1, False), (1, 3, 1, 3, True), (3, 4, 3, 4, False)]),
        ("xab", "abz", [(0, 1, 0, 0, False), (1, 3, 0, 2, True), (3, 3, 2, 3, False)]),
    ],
)  # fmt: skip
def test_runs_cover_both_texts(before, after, runs):
    assert list(align(before, after)) == runs


def test_lines_that_a_text_repeats_too_often_to_pair_extend_the_runs_of_others():
    """A generated file: each of 400 names is followed by two lines that all of them have."""
    lines = [line for number in range(400) for line in (f"- name: n{number}", "  enabled: true", "  enabled: true")]

    found = list(align(["first: 1", *lines, "last: 1"], ["first: 2", *lines, "last: 2"]))

    assert found == [(0, 1, 0, 1, False), (1, 1_201, 1, 1_201, True), (1_201, 1_202, 1_201, 1_202, False)]
