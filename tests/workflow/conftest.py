"""What tests of use cases share: a clock that they move, whatever the database's own says."""

from collections.abc import Callable
from datetime import datetime

import pytest

from applyviz.workflow.foundation import clock
from tests.following import make_begun, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures


@pytest.fixture
def move_clock(monkeypatch) -> Callable[[datetime], None]:
    """Set the moment that everything which expires goes by."""

    def move(moment: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)

    return move
