"""Where things can go wrong in a run, as a list that a seed picks from: one kind of fault at one place each."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from itertools import product

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
# System calls of a run and about how many of each one thread of it makes, its reading child included: a tracer counts
# them thread by thread. Fewer than there are, so that nearly every number is reached.
SYSCALLS = {
    "sendto": 118,
    "recvfrom": 118,
    "poll": 122,
    "futex": 20,
    "rt_sigaction": 40,
    "mmap": 40,
    "rt_sigprocmask": 18,
    "brk": 15,
    "mprotect": 12,
    "close": 12,
    "getrandom": 12,
    "clone3": 8,
    "gettid": 8,
    "read": 7,
    "epoll_ctl": 6,
    "ioctl": 5,
    "pipe2": 3,
    "openat": 3,
    "epoll_wait": 3,
    "newfstatat": 2,
    "setsockopt": 2,
    "lseek": 2,
    "write": 1,
    "wait4": 1,
    "vfork": 1,
    "execve": 1,
    "socket": 1,
    "connect": 1,
}
# What an API server may do: before it acts, instead, and after it did.
UNTOUCHED = (
    "cut before reading",
    "cut before acting",
    "500 before",
    "502 before",
    "503 before",
    "429",
    "408",
    "silent",
)
REFUSED = ("401", "403", "404", "409", "410", "422", "redirect")
CUTS = tuple(f"cut at {part} %" for part in (1, 15, 30, 45, 60, 75, 90, 99))
ACTED = (
    "cut after acting",
    "cut in the status line",
    "cut in the headers",
    "cut in the body",
    "cut before the last byte",
    "500 after",
    "504 after",
    "not JSON",
    "half JSON",
    "wrong length",
    "answered twice",
    "another object",
    "an empty body",
    "a gigabyte",
    "silent after acting",
    "a byte now and then",
    *CUTS,
)
PHASES = (*UNTOUCHED, *REFUSED, *ACTED)
# What ends only when the client has had enough; a trial gives it less time than people do.
SLOW = ("silent", "silent after acting", "a byte now and then")
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


# A kill of the worker is at a named point or at a system call: thirty in every run, all and very many in the long one.
KILLS = ("kill", "system call")
FEWEST_KILLS = 300
QUICK = {"kill": 12, "halt": 2, "system call": 24, "api": 6, "actor": 3, "commit": 3}
LONG = {"kill": 40, "halt": 40, "system call": 440, "api": 160, "actor": 60, "commit": 16}


def find_seed() -> int:
    """`APPLYVIZ_FAULT_SEED`, else another one every day."""
    return int(os.environ.get("APPLYVIZ_FAULT_SEED") or time.time() // 86400)


def choose(counts: dict[str, int]) -> list[Point]:
    """So many points of each kind, picked by the seed."""
    dice = random.Random(find_seed())
    found = list_points()
    return [point for kind, count in counts.items() for point in dice.sample(found[kind], min(count, len(found[kind])))]
