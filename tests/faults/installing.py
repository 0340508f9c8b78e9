"""A whole installation for tests: team, broker, database, an API server that misbehaves, and a forge beside them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import redis as client

from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.forge import Forge
from tests.faults.history import History
from tests.faults.servers import CommitCutter, Postgres, Redis
from tests.faults.trials import Durable, Stage, config_map
from tests.services.team import Team

SECONDS = 120


class Installation:
    """Team, servers and a stage of one installation."""

    def __init__(self, team: Team, stage: Stage, redis: Redis) -> None:
        self.team, self.stage, self.redis, self.names = team, stage, redis, 0

    def bring(self, count: int = 1) -> list[int]:
        """So many runs of two objects each, of names that nobody used before; asked for at once."""
        plans = []
        for _ in range(count):
            self.names += 1
            texts = [config_map(f"{kind}-{self.names}", x="1") for kind in ("one", "two")]
            plans.append(self.stage.forge.call("plan", texts=texts))
        return [self.stage.forge.call("start", plan_id=plan) for plan in plans]

    def broker(self) -> client.Redis:
        """A connection to the broker."""
        return client.Redis(port=self.redis.port)

    def wait(self, runs: list[int], *, seconds: float = SECONDS) -> History:
        """Until all runs have ended; then nothing of their history may be wrong, and all were carried out once."""
        history = self.settle(runs, seconds=seconds)
        assert {run.state for run in history.runs} == {"succeeded"}, [run.error for run in history.runs]
        assert sum(e.is_effective for e in history.exchanges) == 2 * len(runs)
        return history

    def settle(self, runs: list[int], *, seconds: float = SECONDS) -> History:
        """Until all runs have ended, one way or the other; then no rule may be broken."""
        deadline = time.monotonic() + seconds
        while set(states := self.stage.forge.call("list_states", run_ids=runs)) & {"queued", "running"}:
            assert time.monotonic() < deadline, f"{states}; worker: {self.team.log('worker')}"
            self.revive_worker()
            time.sleep(0.1)
        told = self.stage.tell(*runs)
        own = {item.path for run in told.runs for item in run.items}
        history = replace(told, exchanges=tuple(e for e in told.exchanges if e.place in own or not e.is_write))
        broken = [str(violation) for violation in find_violations(history)]
        assert not broken, "\n".join(broken)
        return history

    def wait_until_taken(self, runs: list[int]) -> None:
        """Until workers have begun all of them."""
        deadline = time.monotonic() + SECONDS
        while "queued" in self.stage.forge.call("list_states", run_ids=runs):
            assert time.monotonic() < deadline, self.team.log("worker")
            time.sleep(0.1)
        time.sleep(1)

    def list_workers(self) -> list[int]:
        """The processes of the worker, the first one its parent."""
        pid = self.team._processes["worker"].pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def kill_worker(self) -> None:
        """kill -9 of the worker with all its processes."""
        for pid in self.list_workers():
            os.kill(pid, signal.SIGKILL)
        self.team._processes.pop("worker").wait(20)

    def revive_worker(self) -> None:
        """Start the worker again if it ended, as a container runtime does."""
        if self.team._processes["worker"].poll() is not None:
            self.team._processes.pop("worker")
            self.team.start("worker")

    @contextmanager
    def without_worker(self) -> Iterator[None]:
        """No worker meanwhile."""
        self.team.stop("worker")
        yield
        self.team.start("worker")


@contextmanager
def open_installation(folder: Path) -> Iterator[Installation]:
    """Start everything, and end it."""
    postgres, redis = Postgres(), Redis()
    durable, cutter = Durable(postgres.url), CommitCutter(postgres.port)
    try:
        team = Team(folder, database=postgres.url, broker=redis.url, has_web=False)
        team.environment |= {"APPLYVIZ_LEASE_SECONDS": "9"}
        with ApiServer(durable=durable) as api, team:
            settings = {**team.environment, "DJANGO_SETTINGS_MODULE": "applyviz.settings", "LOG_LEVEL": "CRITICAL"}
            forge = Forge(folder, settings)
            try:
                forge.call("set_up", server=api.url)
                yield Installation(team, Stage(api, postgres, cutter, forge), redis)
            finally:
                forge.close()
    finally:
        cutter.close()
        durable.close()
        redis.stop()
        postgres.stop()
