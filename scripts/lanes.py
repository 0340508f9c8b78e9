"""The lanes of `scripts/test`: what each runs, what it needs, and how the result is told.

A lane that lacks something it needs is reported as not run, with the reason; with `--require-all` that is a
failure. Lanes of one process run two at a time, those of two processes alone. Where real servers and browsers take
part, the few tests that failed get one more attempt with everything started anew, and are named as flaky when they
pass then. The last line is the sum of all lanes; the exit status is 1 when anything failed.
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
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"


# Two processes, each with installations of its own; the tests of one file share them.
BY_FILE = ("-n", "2", "--dist", "loadfile")
FAULTS = ("-m", "faults and not long", *BY_FILE, "--no-loadscope-reorder")
# Every branch of the engine is taken by its own tests and by the recorded answers; no test runs in two lanes for that.
UNITS = ("--ignore=tests/engine", "--ignore=tests/guide", "-n", "2")
ENGINE = (
    *("tests/engine", "tests/guide", "tests/conformance", "-m", "not long"),
    *("--cov=applyviz/engine", "--cov-branch", "--cov-report=term", "--cov-fail-under=100"),
)


# Lanes that may run at once, and the most failures that a second attempt is made for: more are no accident.
SEATS = min(2, os.cpu_count() or 1)
MOST_FLAKES = 5
# The faults of the day are those of the day on which the run began, in all its processes.
ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "tests.settings", "APPLYVIZ_FAULT_SEED": f"{time.time() // 86400:.0f}"}
_terminal = threading.Lock()


@dataclass(frozen=True)
class Lane:
    """One command; `lacks` says what keeps it from running ("" when nothing does).

    - `seats`: how many processors it keeps busy; `has_second_try`: what failed is tried once more, started anew.
    """

    name: str
    command: tuple[str, ...]
    lacks: Callable[[], str] = lambda: ""
    is_pytest: bool = False
    seats: int = 1
    has_second_try: bool = False


@dataclass
class Outcome:
    """What became of one lane."""

    lane: Lane
    reason: str = ""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skips: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)

    @property
    def was_run(self) -> bool:
        return not self.reason


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
    """Builds the control plane when it has to be built, so that the lane's time is its own."""
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


def pytest_lane(name: str, *options: str, lacks: Callable[[], str] = lambda: "", has_second_try: bool = False) -> Lane:
    seats = int(options[options.index("-n") + 1]) if "-n" in options else 1
    return Lane(name, (str(BIN / "pytest"), "-q", *options), lacks, True, seats, has_second_try)


def lanes(*, with_long: bool) -> list[Lane]:
    """All lanes, quick ones first."""
    manage = (str(BIN / "python"), "manage.py")
    found = [
        Lane("format", (str(BIN / "ruff"), "format", "--check", ".")),
        Lane("lint", (str(BIN / "ruff"), "check", ".")),
        Lane("contracts", (str(BIN / "lint-imports"), "--no-logo")),
        Lane("templates", (str(BIN / "djlint"), "templates", "--lint", "--quiet")),
        Lane("migrations", (*manage, "makemigrations", "--check", "--dry-run")),
        pytest_lane(
            "control plane", "tests/controlplane", "-m", "controlplane", lacks=lacks_control_plane, has_second_try=True
        ),
        Lane("types", (str(BIN / "mypy"),)),
        pytest_lane("conformance", "tests/conformance", "-m", "conformance"),
        pytest_lane("engine", *ENGINE),
        pytest_lane("services", "tests/services", "-m", "services", lacks=lacks_services, has_second_try=True),
        pytest_lane("start", "tests/start", "-m", "start", has_second_try=True),
        pytest_lane("units", *UNITS),
        pytest_lane("model", "tests/model", "-m", "model", "-n", "2"),
        pytest_lane("promises", "tests/promises", "-m", "promises", *BY_FILE, lacks=lacks_services),
        pytest_lane("faults", "tests/faults", *FAULTS, lacks=lacks_faults, has_second_try=True),
        pytest_lane("browser", "tests/e2e", "-m", "e2e", *BY_FILE, lacks=lacks_chromium, has_second_try=True),
    ]
    return [*found, pytest_lane("long", "-m", "long", "-n", "2")] if with_long else found


def run(lane: Lane, *, is_alone: bool) -> Outcome:
    """Run one lane; its output goes to this terminal: as it comes when it runs alone, else in one piece at the end."""
    print(f"\n=== {lane.name}", flush=True)
    started = time.monotonic()
    reason = lane.lacks()
    if reason:
        print(f"{lane.name} not run: {reason}", flush=True)
        return Outcome(lane, reason=reason)
    with tempfile.TemporaryDirectory() as folder:
        outcome = attempt(lane, lane.command, Path(folder), is_alone=is_alone)
        if lane.has_second_try and 0 < len(outcome.failures) <= MOST_FLAKES:
            outcome = try_again(lane, outcome, Path(folder), is_alone=is_alone)
    outcome.seconds = time.monotonic() - started
    return outcome


def attempt(lane: Lane, command: Sequence[str], folder: Path, *, is_alone: bool) -> Outcome:
    """Run a command of a lane and read what became of it."""
    report, log = folder / "report.xml", folder / "log"
    report.unlink(missing_ok=True)
    if lane.is_pytest:
        command = [*command, f"--junitxml={report}", "-o", f"cache_dir={folder / 'cache'}"]
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


def try_again(lane: Lane, first: Outcome, folder: Path, *, is_alone: bool) -> Outcome:
    """Run what failed once more with everything started anew; what passes now is told as flaky."""
    print(f"\n=== {lane.name}, second attempt at {', '.join(first.failures)}", flush=True)
    second = attempt(lane, [*lane.command, "--lf", "--lfnf=none"], folder, is_alone=is_alone)
    # Something else than was asked for: the first attempt stands.
    if second.passed + len(second.failures) != first.failed or second.failed != len(second.failures):
        return first
    first.flaky = sorted(set(first.failures) - set(second.failures))
    first.passed, first.failed, first.failures = first.passed + second.passed, second.failed, second.failures
    return first


def read_report(lane: Lane, report: Path) -> Outcome:
    """Counts and reasons from pytest's own report; a lane without one test has failed."""
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
    outcome.failures = list(failed)  # a test that passed and could not be taken down again stands in both
    outcome.passed, outcome.failed = len(passed.keys() - failed.keys()), len(failed)
    return outcome


def run_all(chosen: Sequence[Lane]) -> list[Outcome]:
    """Run lanes side by side as far as the seats go; the outcomes are in the order of the lanes."""
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
    """One line per lane; beneath it what was flaky, and the reasons why tests in it were skipped."""
    lines = [f"\n{'lane':<14} {'result':<8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8}  why not"]
    for outcome in outcomes:
        result = ("FAILED" if outcome.failed else "passed") if outcome.was_run else "not run"
        skipped = sum(outcome.skips.values())
        counts = f"{outcome.passed:>6} {outcome.failed:>6} {skipped:>7} {outcome.seconds:>8.1f}"
        lines.append(f"{outcome.lane.name:<14} {result:<8} {counts}  {outcome.reason}".rstrip())
        lines += [f"{'':<14} flaky: failed once and passed started anew: {name}" for name in outcome.flaky]
        lines += [f"{'':<14} skipped {count:>6}  {reason}" for reason, count in sorted(outcome.skips.items())]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__)
    parser.add_argument("--require-all", action="store_true", help="a lane that cannot run is a failure")
    parser.add_argument("--long", action="store_true", help="also what is too long for every run")
    parser.add_argument("--only", action="append", metavar="LANE", help="run this lane only (repeatable)")
    parser.add_argument("--list", action="store_true", help="name the lanes and stop")
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
    print(f"\nall lanes together: {time.monotonic() - began:.0f} seconds, {sum(len(o.flaky) for o in outcomes)} flaky")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
