"""A whole installation for tests: team, broker, database, an API server that misbehaves, and a forge beside them.

The team reaches database, broker and API server over wires that can be cut; the forge, which people stand for, and
the API server's question to the database do not.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis as client

from applyviz.engine.objects.structs import replace
from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.durable import Durable
from tests.faults.fork_server import Forge
from tests.faults.history import History
from tests.faults.kill_trials import Stage, config_map
from tests.faults.links import Link
from tests.faults.servers import CommitCutter, Postgres, Redis, send_signal
from tests.services.team import Team

SECONDS = 120
UNFINISHED = {"queued", "applying"}


@dataclass(frozen=True)
class Wires:
    """What leads from the team to the others."""

    database: Link
    broker: Link
    api: Link

    def mend(self) -> None:
        """All whole."""
        for wire in (self.database, self.broker, self.api):
            wire.mend()

    def close(self) -> None:
        """For good."""
        for wire in (self.database, self.broker, self.api):
            wire.close()


class Installation:
    """Team, servers and a stage of one installation."""

    def __init__(self, team: Team, stage: Stage, redis: Redis, wires: Wires) -> None:
        self.team, self.stage, self.redis, self.wires, self.names = team, stage, redis, wires, 0

    def bring(self, count: int = 1) -> list[int]:
        """Request `count` runs at once, each of two objects with new names; return their ids."""
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
        assert {run.state for run in history.runs} == {"applied"}, [run.error for run in history.runs]
        assert sum(e.is_effective for e in history.exchanges) == 2 * len(runs)
        return history

    def settle(self, runs: list[int], *, seconds: float = SECONDS) -> History:
        """Until all runs have ended, one way or the other; then no rule may be broken."""
        states = self.await_ends(runs, seconds=seconds)
        assert not states & UNFINISHED, f"{states}; worker: {self.team.log('worker')}"
        history = self.tell(runs)
        broken = [str(violation) for violation in find_violations(history)]
        assert not broken, "\n".join(broken)
        return history

    def await_ends(self, runs: list[int], *, seconds: float) -> set[str]:
        """Wait until all runs have ended, but no longer; the states that they are in then."""
        deadline = time.monotonic() + seconds
        while True:
            states = set(self.stage.forge.call("list_states", run_ids=runs))
            if not states & UNFINISHED or time.monotonic() > deadline:
                return states
            self.revive_worker()
            time.sleep(0.1)

    def tell(self, runs: list[int]) -> History:
        """The history of runs, with the writes about their objects alone."""
        told = self.stage.tell(*runs)
        own = {item.path for run in told.runs for item in run.items}
        return replace(told, exchanges=tuple(e for e in told.exchanges if e.place in own or not e.is_write))

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
        try:
            return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        except FileNotFoundError:
            return [pid]

    def kill_worker(self) -> None:
        """kill -9 of the worker with all its processes."""
        for pid in self.list_workers():
            send_signal(pid, signal.SIGKILL)
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
    postgres, redis, durable = Postgres(), Redis(), None
    api = ApiServer()
    wires = Wires(Link(postgres.port), Link(redis.port), Link(api.http.server_port))
    cutter = CommitCutter(postgres.port)
    try:
        durable = api.durable = Durable(postgres.url)
        far = postgres.reach(wires.database.port)
        team = Team(folder, database=far, broker=f"redis://127.0.0.1:{wires.broker.port}/0", has_web=False)
        team.environment |= {"APPLYVIZ_LEASE_SECONDS": "9"}
        with api, team:
            forge = Forge(folder, _stay_near(team, folder, postgres.url, redis.url))
            try:
                forge.call("set_up", server=f"http://127.0.0.1:{wires.api.port}")
                yield Installation(team, Stage(api, postgres, cutter, forge), redis, wires)
            finally:
                wires.mend()
                forge.close()
    finally:
        wires.close()
        cutter.close()
        if durable is not None:
            durable.close()
        redis.stop()
        postgres.stop()


def _stay_near(team: Team, folder: Path, database: str, broker: str) -> dict[str, str]:
    """The settings of the team for a process that reaches database and broker without a wire between."""
    near = folder / "DATABASE_URL.near"
    near.write_text(database + "\n")
    own = {"DATABASE_URL_FILE": str(near), "REDIS_URL": broker, "LOG_LEVEL": "CRITICAL"}
    return {**team.environment, **own, "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
