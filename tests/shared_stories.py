"""Stories that are played once for a module, each test going on from where they end: rows, sandboxes, people and wire.

For stories whose sandboxes are in memory (`tests/sandboxes.py`); rows of a module are those of `tests/shared_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import pytest
from pytest_django import DjangoDbBlocker

from applyviz.clusters import sandbox
from tests.sandboxes import MemoryStores
from tests.shared_rows import share_rows
from tests.stories import Team


@dataclass(frozen=True)
class SharedStory:
    """A team after its story, and its sandboxes."""

    team: Team
    stores: MemoryStores

    def go_on(self, monkeypatch: pytest.MonkeyPatch) -> Team:
        """Return a copy of the team and its sandboxes for one test, which uses the database."""
        monkeypatch.setattr(sandbox, "DatabaseStore", self.stores.copy())
        return deepcopy(self.team).wire_up(monkeypatch)


def share_story(blocker: DjangoDbBlocker, play: Callable[[Team], object]) -> Iterator[SharedStory]:
    """Yield a story that a function plays, once, for a fixture of a module; the fixture needs `django_db_setup`."""

    def make() -> SharedStory:
        stores = MemoryStores()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sandbox, "DatabaseStore", stores)
            team = Team().wire_up(patch)
            play(team)
        return SharedStory(team, stores)

    yield from share_rows(blocker, make)
