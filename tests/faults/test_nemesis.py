"""Faults of every kind at random, one upon the other, while people confirm runs: no rule is broken, everything ends.

`APPLYVIZ_NEMESIS_SECONDS` says for how long; the seed is that of the other points.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Request
from tests.faults.forge import ForgeError
from tests.faults.installing import Installation
from tests.faults.points import ACTED, REFUSED, SLOW, UNTOUCHED, find_seed
from tests.faults.trials import MAPS

pytestmark = [pytest.mark.faults, pytest.mark.long]
SECONDS = float(os.environ.get("APPLYVIZ_NEMESIS_SECONDS", "90"))
PHASES = tuple(phase for phase in (*UNTOUCHED, *REFUSED, *ACTED) if phase not in (*SLOW, "a gigabyte"))


class Nemesis:
    """What can be done to an installation, by dice."""

    def __init__(self, installation: Installation, dice: random.Random) -> None:
        self.whole, self.dice = installation, dice
        self.frozen: list[int] = []
        self.done: list[str] = []

    def haunt_the_api(self) -> None:
        """From now on one request in thirty goes wrong, and before one in thirty somebody changes the object."""
        api = self.whole.stage.api

        def interfere(seen, number) -> None:
            if self.dice.random() < 1 / 30 and seen.place.startswith(f"{MAPS}/"):
                name = seen.place.rpartition("/")[2]
                body = {"metadata": {"name": name}, "data": {"x": "by hand"}}
                api.act(Request("POST", MAPS, {}, JSON, body))
                api.act(Request("PATCH", seen.place, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, body))

        api.before = interfere
        api.choose = lambda seen, number: self.dice.choice(PHASES) if self.dice.random() < 1 / 30 else ""

    def flush_the_broker(self) -> None:
        self.whole.broker().flushall()

    def kill_the_broker(self) -> None:
        self.whole.redis.kill()
        self.whole.redis.start()

    def crash_the_database(self) -> None:
        self.whole.stage.postgres.crash()
        self.whole.stage.postgres.start()
        self.whole.stage.forge.call("reconnect")

    def freeze_the_database(self) -> None:
        with self.whole.stage.postgres.frozen():
            time.sleep(2)

    def kill_a_worker(self) -> None:
        os.kill(self.dice.choice(self.whole.list_workers()), signal.SIGKILL)

    def kill_all_workers(self) -> None:
        self.whole.kill_worker()
        self.whole.team.start("worker")

    def freeze_a_worker(self) -> None:
        pid = self.dice.choice(self.whole.list_workers())
        os.kill(pid, signal.SIGSTOP)
        self.frozen.append(pid)

    def wake_workers(self) -> None:
        for pid in self.frozen:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
        self.frozen.clear()

    def strike(self) -> None:
        """One of all that, or nothing for a while."""
        deeds: list[Callable[[], None]] = [
            self.flush_the_broker,
            self.kill_the_broker,
            self.crash_the_database,
            self.freeze_the_database,
            self.kill_a_worker,
            self.kill_all_workers,
            self.freeze_a_worker,
            self.wake_workers,
            lambda: time.sleep(1),
        ]
        self.whole.revive_worker()
        deed = self.dice.choice(deeds)
        self.done.append(deed.__name__)
        deed()

    def heal(self) -> None:
        """Everything is as it should be again."""
        api = self.whole.stage.api
        api.choose, api.before = lambda seen, number: "", lambda seen, number: None
        self.wake_workers()
        self.whole.revive_worker()


def test_everything_at_once_breaks_no_rule(installation):
    nemesis = Nemesis(installation, random.Random(find_seed()))
    nemesis.haunt_the_api()
    runs: list[int] = []
    until = time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            try:
                runs += installation.bring(2)
            except ForgeError:  # the plan met a fault, and says so to whoever asked for it
                installation.stage.forge.call("reconnect")
            nemesis.strike()
    finally:
        nemesis.heal()

    told = installation.settle(runs, seconds=180)
    states = [run.state for run in told.runs]
    print(f"seed {find_seed()}: {len(runs)} runs, {len(nemesis.done)} blows, {states.count('succeeded')} succeeded")
    assert states.count("succeeded") > 0
