"""The stage of the promises: a team whose cluster is in memory, and every request to it remembered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from applyviz.engine.requests.options import ApplyMode
from applyviz.records import triggers
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.foundation import failpoints
from tests.faults.checker import find_violations
from tests.faults.gathering import gather
from tests.faults.history import History, Run
from tests.model.world import World
from tests.stories import Team, config_map


class Scene(Team):
    """Alice writes, Bob and Carl approve; what happened is judged by the history checker."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    @property
    def writes(self) -> list[str]:
        """Every write that was sent, as method and path."""
        return [f"{e.method} {e.path}" for e in self.world.exchanges if e.is_write]

    @property
    def effective(self) -> int:
        """How many writes changed something."""
        return sum(e.is_effective for e in self.world.exchanges)

    def judge(self, *runs: ApplyRun, is_settled: bool = True) -> tuple[Run, ...]:
        """What became of runs; fails when any rule was broken."""
        history: History = gather(self.world.exchanges, runs=[run.pk for run in runs], is_settled=is_settled)
        assert [str(v) for v in find_violations(history)] == []
        return history.runs

    def give(self, name: str, **data: str) -> None:
        """An object that this product made before."""
        self.world.apply_as("applyviz", name, data)

    def change(self, *texts: str, is_client: bool = False, **options: object) -> Plan:
        """A plan of two objects, one there and one not, unless texts say otherwise; nothing heard before it counts."""
        self.give("there", x="1", w="1")
        plan = self.plan(
            *(texts or (config_map("there", x="2", w="1"), config_map("fresh", a="1"))),
            mode=ApplyMode.CLIENT if is_client else ApplyMode.SERVER,
            **options,
        )
        self.world.exchanges.clear()
        return plan

    def person(self, name: str) -> User:
        """Somebody anew from the database."""
        return User.objects.get(username=name)


@pytest.fixture
def scene(db, monkeypatch) -> Iterator[Scene]:
    """A team before its first review."""
    world = World()
    world.wire_up(monkeypatch)
    yield Scene(world)
    failpoints.hooks.clear()


@pytest.fixture
def unguarded(db) -> Iterator[None]:
    """The database as it is for somebody who took its triggers away."""
    triggers.lift("default")
    yield
    triggers.install("default")
