"""What tests of use cases share."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from applyviz.workflow.foundation import failpoints
from tests.following import make_begun, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.memory import Memory
from tests.sandboxes import keep_sandboxes_in_memory  # noqa: F401 - a fixture
from tests.stories import Team


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch) -> Team:
    """Alice writes, Bob approves; a wire counts what is sent to their sandbox, and can lose it."""
    return Team().wire_up(monkeypatch)


@pytest.fixture
def memory() -> Memory:
    """A cluster without controllers."""
    return Memory(has_controllers=False)


@pytest.fixture
def at_point() -> Iterator[Callable[..., None]]:
    """Do something when a run reaches a named point, the nth time: `at_point(name, action, time)`."""

    def arm(name: str, action: Callable[[], object], time: int = 1) -> None:
        reached = itertools.count(1)
        failpoints.hooks.append(lambda point: action() if point == name and next(reached) == time else None)

    yield arm
    failpoints.hooks.clear()
