"""What can be done to an installation, by dice: blows to its processes and wires, and an API server that is haunted.

A seed repeats the blows, their order and what the API server does at its n-th request; the moments are the machine's.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable

from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Request
from tests.faults.history import Exchange
from tests.faults.installing import Installation
from tests.faults.kill_trials import MAPS
from tests.faults.links import Link
from tests.faults.points import ACTED, REFUSED, SLOW, UNTOUCHED
from tests.faults.servers import send_signal

PHASES = tuple(phase for phase in (*UNTOUCHED, *REFUSED, *ACTED) if phase not in (*SLOW, "a gigabyte"))
# One request in so many goes wrong, and before one in so many somebody changes the object.
_ODDS = 30
# Partitions last so long: most are short, because while one lasts little else happens.
_PARTITIONS = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 30.0)


class Nemesis:
    """Strikes an installation again and again; `done` tells each blow with its moment."""

    def __init__(self, installation: Installation, seed: int) -> None:
        self.whole, self.seed, self.dice = installation, seed, random.Random(seed)
        self.frozen: list[int] = []
        self.done: list[tuple[float, str]] = []
        self._began = time.monotonic()

    def haunt_the_api(self) -> None:
        """From now on requests go wrong, and others change what runs are about to write."""
        api = self.whole.stage.api

        def interfere(seen: Exchange, number: int) -> None:
            if random.Random(f"{self.seed} actor {number}").random() < 1 / _ODDS and seen.place.startswith(f"{MAPS}/"):
                name = seen.place.rpartition("/")[2]
                body = {"metadata": {"name": name}, "data": {"x": "by hand"}}
                api.act(Request("POST", MAPS, {}, JSON, body))
                api.act(Request("PATCH", seen.place, {"fieldManager": "kubectl-edit"}, MERGE_PATCH, body))

        def choose(seen: Exchange, number: int) -> str:
            dice = random.Random(f"{self.seed} phase {number}")
            return dice.choice(PHASES) if dice.random() < 1 / _ODDS else ""

        api.before, api.choose = interfere, choose

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
        send_signal(self.dice.choice(self.whole.list_workers()), signal.SIGKILL)

    def kill_all_workers(self) -> None:
        self.whole.kill_worker()
        self.whole.team.start("worker")

    def freeze_a_worker(self) -> None:
        pid = self.dice.choice(self.whole.list_workers())
        if send_signal(pid, signal.SIGSTOP):
            self.frozen.append(pid)

    def wake_workers(self) -> None:
        for pid in self.frozen:
            send_signal(pid, signal.SIGCONT)
        self.frozen.clear()

    def part_from_the_database(self) -> None:
        self._part(self.whole.wires.database)

    def part_from_the_broker(self) -> None:
        self._part(self.whole.wires.broker)

    def part_from_the_api(self) -> None:
        self._part(self.whole.wires.api)

    def _part(self, wire: Link) -> None:
        seconds, flaps = self.dice.choice(_PARTITIONS), self.dice.random() < 0.3
        (wire.flap if flaps else wire.cut)(seconds)
        self.done.append((self._clock(), f"  for {seconds:g} s{', flapping' if flaps else ''}"))

    def wait_a_second(self) -> None:
        time.sleep(1)

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
            self.part_from_the_database,
            self.part_from_the_broker,
            self.part_from_the_api,
            self.wait_a_second,
        ]
        self.whole.revive_worker()
        deed = self.dice.choice(deeds)
        self.done.append((self._clock(), deed.__name__))
        deed()

    def heal(self) -> None:
        """Everything is as it should be again."""
        api = self.whole.stage.api
        api.choose, api.before = lambda seen, number: "", lambda seen, number: None
        self.whole.wires.mend()
        self.wake_workers()
        self.whole.revive_worker()

    def _clock(self) -> float:
        return time.monotonic() - self._began
