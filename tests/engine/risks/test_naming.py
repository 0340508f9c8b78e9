"""Names in the facts of sentences: an English list, each name once, never a long one."""

from __future__ import annotations

import pytest

from applyviz.engine.risks.naming import join_names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "a"], "a and b"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_names_are_joined(names: list[str], text: str) -> None:
    assert join_names(names) == text
