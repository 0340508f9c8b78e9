"""Is what one selector matches within what another one matches? Asked with every labels that could tell them apart."""

from __future__ import annotations

import random
from itertools import product

from applyviz.engine.references.selectors import LabelSelector, read_selector, selects_within

VALUES = (None, "1", "2", "3")
LABELS = [{name: value for name, value in zip("ab", pair, strict=True) if value} for pair in product(VALUES, VALUES)]


def make_selector(rolled: random.Random) -> LabelSelector:
    named = {name: rolled.choice("12") for name in "ab" if rolled.random() < 0.3}
    expressions = []
    for _ in range(rolled.randint(0, 3)):
        operator = rolled.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        values = {"values": rolled.sample(["1", "2"], rolled.randint(1, 2))} if operator.endswith("In") else {}
        expressions.append({"key": rolled.choice("ab"), "operator": operator, **values})
    found = read_selector({"matchLabels": named, "matchExpressions": expressions})
    assert found is not None
    return found


def test_selector_is_within_another_where_no_labels_tell_otherwise():
    rolled, answers = random.Random(11), []

    for _ in range(3_000):
        inner, outer = make_selector(rolled), make_selector(rolled)
        truth = not any(inner.matches(labels) and not outer.matches(labels) for labels in LABELS)
        answers.append((selects_within(inner, outer) is truth, truth))

    assert {is_right for is_right, _truth in answers} == {True}
    assert {truth for _is_right, truth in answers} == {True, False}
