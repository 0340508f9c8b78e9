"""Numbers and percentages of a whole, as the server counts them."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.shares import scale_share


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0, 0, 0),
        (3, 3, 3),
        ("0%", 0, 0),
        ("25%", 3, 2),
        ("50%", 5, 5),
        ("150%", 15, 15),
        ("3", None, None),
        ("%", None, None),
        ("-5%", None, None),
        ("2.5%", None, None),
        ("\u0663%", None, None),
        (True, None, None),
        (None, None, None),
    ],
)
def test_share_of_ten(value, up, down):
    assert [scale_share(value, 10, is_rounded_up=is_up) for is_up in (True, False)] == [up, down]
