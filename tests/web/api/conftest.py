"""The program whose requests the tests of the API send."""

import pytest

from applyviz.records.enums import Role
from tests.builders import grant_role
from tests.stories import Team
from tests.web.api.test_api import Program


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch) -> Team:
    """The team of all pages, in which Alice may also run."""
    found = Team().wire_up(monkeypatch)
    grant_role(found.alice, Role.OPERATOR)
    return found


@pytest.fixture
def program(team: Team) -> Program:
    """A program of Alice."""
    return Program(team.alice)
