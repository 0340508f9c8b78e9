"""The lanes of `scripts/test`: their commands, their requirements, and the report of the results.

A lane without its requirements is reported as not run, with the reason; `--require-all` makes that a failure.
Single-process lanes run two at a time, lanes of two processes alone. A test runs once: a test that fails now and then
has failed. Each lane has a budget in seconds, and a lane that took longer is named. The last line is the sum of all
lanes; the exit status is 1 when anything failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"


# Two processes, each with separate installations; the tests of one file share them.
BY_FILE = ("-n", "2", "--dist", "loadfile")
CONTROL_PLANE = ("tests/controlplane", "-m", "controlplane and not long")
FAULTS = ("-m", "faults and not long", *BY_FILE, "--no-loadscope-reorder")
# The engine's own tests and the recorded answers cover every branch of it; no test runs in two lanes for that.
UNITS = ("--ignore=tests/engine", "--ignore=tests/guide", "-n", "2")
ENGINE = (
    *("tests/engine", "tests/guide", "tests/conformance", "-m", "not long"),
    *("--cov=applyviz/engine", "--cov-branch", "--cov-report=term", "--cov-fail-under=100"),
)


# Lanes that may run in parallel.
SEATS = min(2, os.cpu_count() or 1)
# All processes use the faults of the day on which the test run began.
ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "tests.settings", "APPLYVIZ_FAULT_SEED": f"{time.time() // 86400:.0f}"}
_terminal = threading.Lock()


@dataclass(frozen=True)
class Lane:
    """One command; `lacks` returns what it requires and this machine lacks ("" for nothing).

    - `seats`: the number of processors that it keeps busy.
    - `budget`: the seconds that it may take on two idle processors with warm caches; 0 sets none.
    """

    name: str
    command: tuple[str, ...]
    lacks: Callable[[], str] = lambda: ""
    is_pytest: bool = False
    seats: int = 1
    budget: int = 0


@dataclass
class Outcome:
    """The result of one lane."""

    lane: Lane
    reason: str = ""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skips: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def was_run(self) -> bool:
        return not self.reason

    @property
    def is_over_budget(self) -> bool:
        return 0 < self.lane.budget < self.seconds


def lacks_chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("APPLYVIZ_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return "" if found else "no Chromium on this machine (Debian: apt-get install chromium)"


def lacks_services() -> str:
    if not shutil.which("redis-server"):
        return "no redis-server on this machine"
    has_postgres = shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return "" if has_postgres else "no PostgreSQL server on this machine"


def lacks_control_plane() -> str:
    """Build the control plane if needed, so that the lane's time does not include it."""
    command = [str(BIN / "python"), "-m", "tests.controlplane.binaries"]
    last = "it cannot be built"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as build:
        assert build.stderr is not None  # noqa: S101 - a pipe was asked for
        for line in build.stderr:
            print(f"control plane: {line}", end="", flush=True)
            last = line.strip() or last
    return last if build.returncode else ""


def lacks_faults() -> str:
    return lacks_services() or ("" if shutil.which("strace") else "no strace on this machine")


def pytest_lane(name: str, *options: str, lacks: Callable[[], str] = lambda: "", budget: int = 0) -> Lane:
    seats = int(options[options.index("-n") + 1]) if "-n" in options else 1
    return Lane(name, (str(BIN / "pytest"), "-q", *options), lacks, True, seats, budget)


def lanes(*, with_long: bool) -> list[Lane]:
    """Return all lanes, quick ones first."""
    manage = (str(BIN / "python"), "manage.py")
    found = [
        Lane("format", (str(BIN / "ruff"), "format", "--check", "."), budget=5),
        Lane("lint", (str(BIN / "ruff"), "check", "."), budget=10),
        Lane("contracts", (str(BIN / "lint-imports"), "--no-logo"), budget=15),
        Lane("requirements", (str(BIN / "deptry"), "."), budget=10),
        Lane("dead code", (str(BIN / "python"), "-m", "scripts.dead_code"), budget=15),
        Lane("templates", (str(BIN / "djlint"), "templates", "--lint", "--quiet"), budget=20),
        Lane("migrations", (*manage, "makemigrations", "--check", "--dry-run"), budget=10),
        pytest_lane("control plane", *CONTROL_PLANE, lacks=lacks_control_plane, budget=120),
        Lane("types", (str(BIN / "mypy"),), budget=35),
        pytest_lane("conformance", "tests/conformance", "-m", "conformance", budget=80),
        pytest_lane("engine", *ENGINE, budget=150),
        pytest_lane("services", "tests/services", "-m", "services", lacks=lacks_services, budget=180),
        pytest_lane("install", "tests/install", "-m", "install", lacks=lacks_services, budget=90),
        pytest_lane("start", "tests/start", "-m", "start", budget=50),
        pytest_lane("units", *UNITS, budget=190),
        pytest_lane("model", "tests/model", "-m", "model", "-n", "2", budget=150),
        pytest_lane("promises", "tests/promises", "-m", "promises", *BY_FILE, lacks=lacks_services, budget=50),
        pytest_lane("attacks", "tests/attacks", "-m", "attacks", budget=90),
        pytest_lane("faults", "tests/faults", *FAULTS, lacks=lacks_faults, budget=170),
        pytest_lane("browser", "tests/e2e", "-m", "e2e", *BY_FILE, lacks=lacks_chromium, budget=200),
    ]
    return [*found, pytest_lane("long", "-m", "long", "-n", "2")] if with_long else found


def run(lane: Lane, *, is_alone: bool) -> Outcome:
    """Run one lane; stream its output when it runs alone, else print it at the end."""
    print(f"\n=== {lane.name}", flush=True)
    started = time.monotonic()
    reason = lane.lacks()
    if reason:
        print(f"{lane.name} not run: {reason}", flush=True)
        return Outcome(lane, reason=reason)
    with tempfile.TemporaryDirectory() as folder:
        outcome = carry_out(lane, Path(folder), is_alone=is_alone)
    outcome.seconds = time.monotonic() - started
    return outcome


def carry_out(lane: Lane, folder: Path, *, is_alone: bool) -> Outcome:
    """Run the command of a lane and read its result."""
    command, report, log = lane.command, folder / "report.xml", folder / "log"
    if lane.is_pytest:
        command = (*command, f"--junitxml={report}", "-o", f"cache_dir={folder / 'cache'}")
    with log.open("wb") as kept:
        to = None if is_alone else kept
        environment = {**ENVIRONMENT, **os.environ}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=to, stderr=to)
    if not is_alone:
        with _terminal:
            print(f"\n=== {lane.name} says\n{log.read_text(errors='replace')}", flush=True)
    outcome = read_report(lane, report) if lane.is_pytest else Outcome(lane, passed=int(done.returncode == 0))
    if done.returncode != 0 and outcome.failed == 0:
        outcome.failed = 1
    return outcome


def read_report(lane: Lane, report: Path) -> Outcome:
    """Read counts and reasons from pytest's report; a lane without any test has failed."""
    outcome = Outcome(lane)
    passed, failed = dict[str, None](), dict[str, None]()
    cases = ET.parse(report).iter("testcase") if report.exists() else ()  # noqa: S314 - written by pytest just now
    for case in cases:
        name, skipped = f"{case.get('classname')}::{case.get('name')}", case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed[name] = None
        elif skipped is None:
            passed[name] = None
        else:
            reason = skipped.get("message", "")
            outcome.skips[reason] = outcome.skips.get(reason, 0) + 1
    outcome.failures = list(failed)  # a test that passed and then failed in teardown is in both lists
    outcome.passed, outcome.failed = len(passed.keys() - failed.keys()), len(failed)
    return outcome


def run_all(chosen: Sequence[Lane]) -> list[Outcome]:
    """Run lanes in parallel as far as the seats allow; return the outcomes in the order of the lanes."""
    waiting, outcomes = list(chosen), dict[str, Outcome]()
    running = dict[Future[Outcome], Lane]()
    with ThreadPoolExecutor(SEATS) as pool:
        while waiting or running:
            free = SEATS - sum(min(lane.seats, SEATS) for lane in running.values())
            lane = next((one for one in waiting if min(one.seats, SEATS) <= free), None)
            if lane is not None:
                waiting.remove(lane)
                is_alone = lane.seats >= SEATS or len(chosen) == 1
                running[pool.submit(run, lane, is_alone=is_alone)] = lane
                continue
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                outcomes[running.pop(done).name] = done.result()
    return [outcomes[lane.name] for lane in chosen]


def render_table(outcomes: Sequence[Outcome]) -> str:
    """Return one line per lane with its seconds and its budget, and below it the reasons of skipped tests."""
    head = (
        f"{'lane':<14} {'result':<8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8} {'budget':>6}  why not"
    )
    lines = [f"\n{head}"]
    for outcome in outcomes:
        result = ("FAILED" if outcome.failed else "passed") if outcome.was_run else "not run"
        skipped = sum(outcome.skips.values())
        counts = f"{outcome.passed:>6} {outcome.failed:>6} {skipped:>7} {outcome.seconds:>8.1f}"
        remark = "over budget" if outcome.is_over_budget else outcome.reason
        lines.append(f"{outcome.lane.name:<14} {result:<8} {counts} {outcome.lane.budget or '-':>6}  {remark}".rstrip())
        lines += [f"{'':<14} skipped {count:>6}  {reason}" for reason, count in sorted(outcome.skips.items())]
    return "\n".join(lines)


def budget_of(chosen: Iterable[Lane]) -> float:
    """Return the seconds that lanes may take together, on as many processors as they get."""
    return sum(lane.budget * min(lane.seats, SEATS) for lane in chosen) / SEATS


def render_sum(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the total time of all lanes, their budget, and the lanes over budget."""
    budget = budget_of(outcome.lane for outcome in outcomes)
    over = ", ".join(outcome.lane.name for outcome in outcomes if outcome.is_over_budget)
    return f"\nall lanes together: {seconds:.0f} seconds; budget {budget:.0f}; over budget: {over or 'none'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__)
    parser.add_argument("--require-all", action="store_true", help="a lane that cannot run is a failure")
    parser.add_argument("--long", action="store_true", help="also run the lanes that take too long for every run")
    parser.add_argument("--only", action="append", metavar="LANE", help="run this lane only (repeatable)")
    parser.add_argument("--list", action="store_true", help="list the lanes and stop")
    options = parser.parse_args()
    chosen = [lane for lane in lanes(with_long=options.long) if not options.only or lane.name in options.only]
    if options.list or not chosen:
        print("\n".join(lane.name for lane in lanes(with_long=True)))
        return 0 if options.list else 2
    began = time.monotonic()
    outcomes = run_all(chosen)
    if options.require_all:
        for outcome in outcomes:
            outcome.failed += not outcome.was_run
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    print(render_table(outcomes))
    print(render_sum(outcomes, time.monotonic() - began))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
