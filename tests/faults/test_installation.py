"""A whole installation, as `docker-compose.yml` starts it: broker, database and workers go away and come back.

What is confirmed is carried out, once, whatever the broker loses, repeats, delays or makes up.
"""

from __future__ import annotations

import base64
import json
import pickle
import signal
import time
from typing import Any

import pytest
import redis as client

from tests.faults.kill_trials import config_map

pytestmark = [pytest.mark.faults, pytest.mark.long]
QUEUE = "runs"


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


def test_broker_whose_memory_is_full_delays_and_loses_nothing(installation):
    broker = installation.broker()
    broker.config_set("maxmemory", "1mb")
    broker.config_set("maxmemory-policy", "noeviction")
    try:
        with pytest.raises(client.exceptions.OutOfMemoryError):
            broker.set("asked", "1")
        runs = installation.bring(2)
    finally:
        broker.config_set("maxmemory", "0")

    installation.wait(runs)


def test_broker_that_takes_no_writes_delays_and_loses_nothing(installation):
    """As a replica does after a failover that nobody told the workers of."""
    broker = installation.broker()
    broker.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(client.exceptions.ReadOnlyError):
            broker.set("asked", "1")
        runs = installation.bring(2)
        time.sleep(1)
    finally:
        broker.replicaof("NO", "ONE")

    installation.wait(runs)


def test_broker_that_holds_messages_back_and_turns_them_round_repeats_no_write(installation):
    with installation.without_worker():
        runs = installation.bring(3)
        broker = installation.broker()
        messages = broker.lrange(QUEUE, 0, -1)
        broker.delete(QUEUE)

    installation.wait(runs)  # the sweep did not wait for them
    broker.rpush(QUEUE, *reversed(messages))
    installation.wait(installation.bring(1))
    installation.wait(runs)


def test_many_recoveries_and_many_messages_make_one_claim(installation):
    with installation.without_worker():
        runs = installation.bring(2)
        recover = _forge_message("applyviz.recover", {})
        asked = [_forge_message("applyviz.execute_run", {"run_id": run}) for run in runs]
        for _ in range(8):
            installation.broker().rpush(QUEUE, recover, *asked)

    assert [run.epoch for run in installation.wait(runs).runs] == [1, 1]


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
    installation.wait(installation.bring(1))
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
    try:
        installation.team.start("worker")
        runs = installation.bring(2)
        installation.wait_until_taken(runs)
    finally:
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
    assert time.monotonic() - began < 60


def test_crashed_database_comes_back_and_everything_ends(installation):
    runs = installation.bring(6)
    installation.stage.postgres.crash()
    time.sleep(0.5)
    installation.stage.postgres.start()
    installation.stage.forge.call("reconnect")

    installation.wait(runs, seconds=90)


def test_wires_that_are_cut_one_after_the_other_lose_nothing(installation):
    runs = []
    for name, way in (("database", "cut"), ("broker", "cut"), ("api", "cut"), ("database", "flap"), ("api", "flap")):
        runs += installation.bring(1)
        getattr(getattr(installation.wires, name), way)(2)
        time.sleep(1)

    installation.wait(runs)


STOP_SECONDS = 5.0


def _stop_worker_in_time(installation) -> None:
    began = time.monotonic()
    assert installation.team.stop("worker") == 0
    assert time.monotonic() - began < STOP_SECONDS + 15  # the machine of the tests is busy


def test_worker_that_is_asked_to_stop_finishes_or_hands_over(installation):
    runs = installation.bring(3)
    _stop_worker_in_time(installation)
    installation.team.start("worker")

    installation.wait(runs)


def _bring_wide(installation, count: int) -> int:
    installation.names += 1
    texts = [config_map(f"wide-{installation.names}-{n}", x="1") for n in range(count)]
    plan = installation.stage.forge.call("plan", texts=texts)
    return installation.stage.forge.call("start", plan_id=plan)


def _wait_for_writes(installation, count: int) -> None:
    deadline = time.monotonic() + 60
    while sum(e.is_write for e in installation.stage.api.exchanges) < count:
        assert time.monotonic() < deadline, installation.team.log("worker")
        time.sleep(0.02)


def _begin_anew(installation) -> None:
    installation.stage.listen()
    installation.stage.api.choose = lambda seen, number: ""


def test_worker_that_is_asked_to_stop_starts_no_more_objects(installation):
    _begin_anew(installation)
    installation.stage.api.delay = 0.5
    try:
        run = _bring_wide(installation, 64)
        _wait_for_writes(installation, 5)
        _stop_worker_in_time(installation)
        written = sum(e.is_effective for e in installation.stage.api.exchanges)
    finally:
        installation.stage.api.delay = 0.0
    assert 5 <= written <= 32  # those that were begun, at most

    installation.team.start("worker")
    history = installation.settle([run])

    assert [(r.state, r.epoch) for r in history.runs] == [("applied", 2)]
    assert sum(e.is_effective for e in history.exchanges) == 64


def test_worker_that_waits_for_a_silent_server_stops_in_time_and_the_next_one_reads_live(installation):
    _begin_anew(installation)
    installation.stage.api.choose = lambda seen, number: "silent after acting" if seen.is_write else ""
    run = _bring_wide(installation, 3)
    _wait_for_writes(installation, 3)

    _stop_worker_in_time(installation)

    told = installation.tell([run])
    assert [r.state for r in told.runs] == ["applying"]
    entries = [entry for r in told.runs for item in r.items for entry in item.journal]
    assert [entry.state for entry in entries] == ["intent"] * 3
    installation.stage.api.choose = lambda seen, number: ""
    installation.team.start("worker")
    history = installation.settle([run])
    assert [(r.state, r.epoch) for r in history.runs] == [("applied", 2)]
    assert sum(e.is_write for e in history.exchanges) == 3  # live shows what the first worker had done
