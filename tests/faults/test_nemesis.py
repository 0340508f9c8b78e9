"""Faults of every kind at random, one upon the other, while people confirm runs: no rule is broken, everything ends.

`APPLYVIZ_NEMESIS_SECONDS` says for how long; the seed is that of the other points. However it goes, a verdict is
printed: the seed, each broken rule, and the folder where the history about them is kept.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.checker import find_violations
from tests.faults.fork_server import ForgeError
from tests.faults.installing import UNFINISHED, Installation
from tests.faults.nemesis import Nemesis
from tests.faults.points import find_seed
from tests.faults.recounting import keep, recount

pytestmark = [pytest.mark.faults, pytest.mark.long]
SECONDS = float(os.environ.get("APPLYVIZ_NEMESIS_SECONDS", "90"))
# When all is well again everything has to end in so many seconds, and the whole trial in so many more than its own.
SETTLING, GRACE = 300.0, 600.0
# Writes that arrived while the database could be asked neither then nor later.
MOST_UNASKED = 3


class OutOfTimeError(AssertionError):
    """The trial did not come to its end."""


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Raise in the middle of whatever hangs."""

    def ring(*_: object) -> None:
        raise OutOfTimeError(f"it did not come to an end within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _torment(installation: Installation, nemesis: Nemesis) -> int:
    """Runs and blows in turn; how many requests of people failed because of a fault."""
    until, failed = time.monotonic() + SECONDS, 0
    try:
        while time.monotonic() < until:
            try:
                installation.bring(2)
            except ForgeError:  # the plan met a fault, and says so to whoever asked for it
                failed += 1
                installation.stage.forge.call("reconnect")
            nemesis.strike()
    finally:
        nemesis.heal()
    return failed


def _judge(installation: Installation, nemesis: Nemesis, failed: int) -> str:
    """The verdict in one line; "" as its end when nothing is wrong."""
    runs = installation.stage.forge.call("list_all_runs")
    left = installation.await_ends(runs, seconds=SETTLING) & UNFINISHED
    history = installation.tell(runs)
    broken = find_violations(history)
    states = [run.state for run in history.runs]
    writes = [seen for seen in history.exchanges if seen.is_write]
    unasked = sum(seen.intents is None for seen in writes)
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    print(
        f"nemesis, seed {nemesis.seed}: {len(runs)} runs ({counts}), {len(nemesis.done)} blows in {SECONDS:g} s, "
        f"{failed} requests of people failed; {len(writes)} writes arrived, the database was asked later about "
        f"{installation.stage.asked_later} of them and could not be asked about {unasked}; {len(broken)} rules broken"
    )
    wrong = [str(violation) for violation in broken]
    wrong += [f"runs are still {', '.join(sorted(left))}"] if left else []
    wrong += [f"{unasked} writes could not be judged"] if unasked > MOST_UNASKED else []
    wrong += [] if "applied" in states else ["nothing succeeded: nothing was tried"]
    if not wrong:
        return ""
    folder = keep(history, recount(history, broken, nemesis.done), seed=nemesis.seed)
    return "\n".join([f"seed {nemesis.seed}; the history is kept in {folder}", *wrong, installation.team.log("worker")])


def test_everything_at_once_breaks_no_rule(installation):
    nemesis = Nemesis(installation, find_seed())
    nemesis.haunt_the_api()
    try:
        with _ended_after(SECONDS + GRACE):
            wrong = _judge(installation, nemesis, _torment(installation, nemesis))
    except OutOfTimeError as error:
        blows = "\n".join(f"{at:7.1f} {what}" for at, what in nemesis.done)
        pytest.fail(f"seed {nemesis.seed}: {error}; the blows were\n{blows}")
    assert not wrong, wrong
