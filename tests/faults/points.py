"""Where things can go wrong in a run, as a list that a seed picks from: one kind of fault at one place each."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from itertools import product

from tests.faults.apiserver import PHASES

# Named points of a run and how often a run of the stage reaches each.
FAILPOINTS = {
    "run.claiming": 1,
    "run.claimed": 1,
    "run.prepared": 1,
    "run.checked": 1,
    "run.object": 3,
    "run.intending": 3,
    "run.intended": 3,
    "run.answered": 3,
    "run.recording": 3,
    "run.recorded": 3,
    "run.concluding": 3,
    "run.telling": 3,
    "run.concluded": 3,
    "run.finishing": 1,
    "run.ending": 1,
    "run.ended": 1,
}
# System calls of a run and about how often a run makes each.
SYSCALLS = {
    "sendto": 70,
    "recvfrom": 70,
    "poll": 80,
    "futex": 60,
    "read": 90,
    "openat": 60,
    "close": 60,
    "mmap": 40,
    "brk": 15,
    "clone3": 8,
    "newfstatat": 100,
    "rt_sigaction": 50,
    "wait4": 2,
    "vfork": 1,
    "execve": 1,
    "connect": 3,
    "socket": 3,
    "setsockopt": 4,
    "ioctl": 40,
    "lseek": 50,
    "gettid": 20,
    "pipe2": 3,
}
MUTATIONS = ("field", "other field", "labels", "owner", "delete", "anew", "status", "appear")
REQUESTS = 14
COMMITS = 8


@dataclass(frozen=True)
class Point:
    """One fault: its kind, what goes wrong, and the number of the place."""

    kind: str
    what: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.what}-{self.number}".replace(" ", "_")


def list_points() -> dict[str, list[Point]]:
    """Every point, by its kind."""
    numbered = [(name, n + 1) for name, times in FAILPOINTS.items() for n in range(times)]
    return {
        "kill": [Point("kill", name, n) for name, n in numbered],
        "halt": [Point("halt", name, n) for name, n in numbered if name not in ("run.claiming", "run.ended")],
        "system call": [Point("system call", name, n + 1) for name, times in SYSCALLS.items() for n in range(times)],
        "api": [Point("api", phase, n + 1) for phase, n in product(PHASES, range(REQUESTS))],
        "actor": [Point("actor", mutation, n + 1) for mutation, n in product(MUTATIONS, range(REQUESTS))],
        "commit": [Point("commit", how, n + 1) for how, n in product(("lost", "unanswered"), range(COMMITS))],
    }


QUICK = {"kill": 8, "halt": 3, "system call": 6, "api": 7, "actor": 3, "commit": 3}
LONG = {"kill": 40, "halt": 30, "system call": 220, "api": 130, "actor": 60, "commit": 16}


def find_seed() -> int:
    """`APPLYVIZ_FAULT_SEED`, else another one every day."""
    return int(os.environ.get("APPLYVIZ_FAULT_SEED") or time.time() // 86400)


def choose(counts: dict[str, int]) -> list[Point]:
    """So many points of each kind, picked by the seed."""
    dice = random.Random(find_seed())
    found = list_points()
    return [point for kind, count in counts.items() for point in dice.sample(found[kind], min(count, len(found[kind])))]
