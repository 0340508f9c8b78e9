"""Hostile size: what people bring may be long, and costs time in proportion, not by its square.

Each text is long enough that a quadratic rule takes ten times the limit on any machine that runs this.
"""

from __future__ import annotations

import random
import time
from fnmatch import fnmatchcase

import pytest

from applyviz.engine.diff import embedded, embedded_documents, structural
from applyviz.web.templatetags.applyviz import breakable, ticked, visible, wrap_camel_case
from applyviz.workflow.foundation.scopes import fits

pytestmark = pytest.mark.attacks
SECONDS = 2.0
LENGTH = 240_000


def measure(act, *given):
    """The result, and the seconds of computing that it took."""
    began = time.process_time()
    return act(*given), time.process_time() - began


@pytest.mark.parametrize("printed", [breakable, wrap_camel_case, ticked, visible])
@pytest.mark.parametrize("unit", ["a.", "aB", "a<", "`a", "a-", '"', "a\u202e", "a>"])
def test_words_of_a_page_are_broken_in_linear_time(printed, unit):
    text = unit * (LENGTH // len(unit) // (8 if "\u202e" in unit else 1))

    _, seconds = measure(printed, text)

    assert seconds < SECONDS


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (embedded.looks_secret, "\n" * LENGTH),
        (embedded.looks_secret, "- \n" * (LENGTH // 3)),
        (embedded_documents.read_yaml, "a" + " " * LENGTH + "\nb"),
        (lambda text: structural.is_equal_in_meaning(text, "2"), "1" * LENGTH),
        (lambda text: structural.is_equal_in_meaning(text, "2"), "1" * LENGTH + "x"),
    ],
)
def test_texts_inside_of_objects_are_read_in_linear_time(read, text):
    _, seconds = measure(read, text)

    assert seconds < SECONDS


@pytest.mark.parametrize("pattern", ["*a" * 30 + "b", "*a*" * 20 + "b", "?*" * 30 + "b", "*" * 63, "*aab" * 15])
def test_patterns_of_grants_are_matched_in_linear_time(pattern):
    is_fitting, seconds = measure(fits, pattern, "a" * 5_000)

    assert seconds < SECONDS
    assert is_fitting == (pattern == "*" * 63)


def test_patterns_mean_what_they_meant():
    rolled = random.Random(7)
    pairs = [
        ("".join(rolled.choices("ab*?", k=rolled.randint(0, 7))), "".join(rolled.choices("ab", k=rolled.randint(0, 8))))
        for _ in range(3_000)
    ]

    assert [pair for pair in pairs if fits(*pair) != fnmatchcase(pair[1], pair[0])] == []
