"""Whoever reads the database without the opening key: no value of a Secret is in it (threats A2, A9, A10)."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyMode
from tests.attacks.conftest import find_leaks
from tests.stories import Team, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "fv8Qz1TgWm4Ry7Kd"


@pytest.mark.parametrize("mode", ApplyMode)
def test_no_column_holds_a_value_of_a_secret_that_was_applied(team: Team, mode: ApplyMode) -> None:
    run = team.apply(secret(password=CANARY), mode=mode)

    assert team.outcomes(run) == ["applied"]
    assert find_leaks(CANARY) == []
