"""A whole installation, as `docker-compose.yml` starts it: broker, database and workers go away and come back.

What is confirmed is carried out, once, whatever the broker loses, repeats, delays or makes up.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis as client

from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.forge import Forge
from tests.faults.history import History
from tests.faults.servers import CommitCutter, Postgres, Redis
from tests.faults.trials import Durable, Stage, config_map
from tests.services.team import Team

pytestmark = pytest.mark.faults
QUEUE = "celery"
SECONDS = 60


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
        deadline = time.monotonic() + seconds
        while set(states := self.stage.forge.call("list_states", run_ids=runs)) & {"queued", "running"}:
            assert time.monotonic() < deadline, f"{states}; worker: {self.team.log('worker')}"
            time.sleep(0.2)
        history = self.stage.tell(*runs)
        own = {item.path for run in history.runs for item in run.items}
        exchanges = tuple(e for e in history.exchanges if e.place in own or not e.is_write)
        assert [str(v) for v in find_violations(replace(history, exchanges=exchanges))] == []
        assert states == ["succeeded"] * len(runs), [run.error for run in history.runs]
        assert sum(e.is_effective for e in exchanges) == 2 * len(runs)
        return history

    def kill_worker(self) -> None:
        """kill -9 of the worker with all its processes."""
        process = self.team._processes.pop("worker")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in (process.pid, *map(int, children)):
            os.kill(pid, signal.SIGKILL)
        process.wait(20)

    @contextmanager
    def without_worker(self) -> Iterator[None]:
        """No worker meanwhile."""
        self.team.stop("worker")
        yield
        self.team.start("worker")


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    postgres, redis = Postgres(), Redis()
    durable, cutter = Durable(postgres.url), CommitCutter(postgres.port)
    try:
        team = Team(folder, database=postgres.url, broker=redis.url)
        team.environment |= {"APPLYVIZ_LEASE_SECONDS": "9", "APPLYVIZ_MUST_OPEN_DANGERS": "off"}
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


def test_confirmed_runs_are_carried_out(installation):
    installation.wait(installation.bring(3))


def test_broker_that_is_away_delays_and_loses_nothing(installation):
    installation.redis.kill()
    try:
        runs = installation.bring(2)
    finally:
        installation.redis.start()

    installation.wait(runs)


def test_broker_that_forgets_everything_loses_nothing(installation):
    with installation.without_worker():
        runs = installation.bring(3)
        installation.broker().flushall()

    installation.wait(runs)


def test_broker_that_repeats_every_message_repeats_no_write(installation):
    with installation.without_worker():
        runs = installation.bring(2)
        broker = installation.broker()
        messages = broker.lrange(QUEUE, 0, -1)
        assert len(messages) >= 2
        for _ in range(50):
            broker.rpush(QUEUE, *messages)

    installation.wait(runs)
    broker.rpush(QUEUE, *messages)  # and once more, long after
    time.sleep(2)
    installation.wait(runs)


def _forge_message(task: str, kwargs: Any, *, content_type: str = "application/json", body: bytes | None = None) -> str:
    raw = body if body is not None else json.dumps([[], kwargs, {}]).encode()
    headers = {"lang": "py", "task": task, "id": "f" * 36, "root_id": "f" * 36, "argsrepr": "", "kwargsrepr": ""}
    properties = {
        "correlation_id": "f" * 36,
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": QUEUE},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": "t" * 36,
    }
    return json.dumps(
        {
            "body": base64.b64encode(raw).decode(),
            "content-encoding": "utf-8" if content_type == "application/json" else "binary",
            "content-type": content_type,
            "headers": headers,
            "properties": properties,
        }
    )


class _Touch:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (self.path, "w"))


def test_broker_that_makes_messages_up_has_nothing_written(installation, tmp_path):
    canary = tmp_path / "canary"
    plan = installation.stage.forge.call("plan", texts=[config_map("unapproved", x="1")])
    writes = sum(e.is_write for e in installation.stage.api.exchanges)
    broker = installation.broker()
    for value in (plan, 0, -1, 10**18, "1", None, [1], {"run": 1}, True):
        for task in ("applyviz.execute_run", "applyviz.make_plan"):
            broker.rpush(QUEUE, _forge_message(task, {"run_id": value}), _forge_message(task, {"plan_id": value}))
    pickled = pickle.dumps([[], {"run_id": _Touch(str(canary))}, {}])
    for content_type in ("application/x-python-serialize", "application/x-yaml", "application/x-msgpack"):
        broker.rpush(QUEUE, _forge_message("applyviz.execute_run", {}, content_type=content_type, body=pickled))
    broker.rpush(QUEUE, _forge_message("os.system", {"command": f"touch {canary}"}))

    installation.wait(installation.bring(1))
    assert not canary.exists()
    assert sum(e.is_write for e in installation.stage.api.exchanges) == writes + 2


@pytest.mark.parametrize("point", ["run.intended", "run.answered"])
def test_killed_workers_lose_nothing(installation, point):
    installation.kill_worker()
    installation.team.environment["APPLYVIZ_FAILPOINT"] = point
    installation.team.start("worker")
    runs = installation.bring(2)
    time.sleep(6)
    installation.kill_worker()
    del installation.team.environment["APPLYVIZ_FAILPOINT"]
    installation.team.start("worker")

    assert [run.epoch > 1 for run in installation.wait(runs).runs] == [True, True]


def test_confirmation_whose_process_dies_before_it_sends_is_found(installation):
    plan = installation.stage.forge.call("plan", texts=[config_map("orphan-1", x="1"), config_map("orphan-2", x="1")])
    pid = installation.stage.forge.fork("start", plan_id=plan, failpoint="message.sending")
    assert installation.stage.forge.wait(pid) == -signal.SIGKILL

    began = time.monotonic()
    installation.wait([installation.stage.forge.call("find_run", plan_id=plan)])
    assert time.monotonic() - began < 30


def test_crashed_database_comes_back_and_everything_ends(installation):
    runs = installation.bring(6)
    installation.stage.postgres.crash()
    time.sleep(0.5)
    installation.stage.postgres.start()
    installation.stage.forge.call("reconnect")

    installation.wait(runs, seconds=90)


def test_worker_that_is_asked_to_stop_finishes_or_hands_over(installation):
    runs = installation.bring(3)
    assert installation.team.stop("worker") == 0
    installation.team.start("worker")

    installation.wait(runs)
