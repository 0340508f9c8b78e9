"""The lanes of `scripts/test`: their commands, their requirements, and the report of the results.

A lane without its requirements is reported as not run, with the reason; `--require-all` makes that a failure.
Lanes run side by side as long as their loads fit into two processors: a lane that computes fills one, a lane that
mostly waits for other processes fills half. The checks without tests come first, then the longest lane that fits, so
that no processor idles at the end. A test runs once: a test that fails now and then has failed. Each lane has a budget
in seconds, and a lane that took longer is named. The last line is the sum of all lanes; the exit status is 1 when
anything failed.
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


# A lane over its budget says where its time went.
SLOWEST = ("--durations=12", "--durations-min=3")
CONTROL_PLANE = ("tests/controlplane", "-m", "controlplane and not long")
BROWSER = ("tests/e2e", "tests/visual", "-m", "e2e or visual")
FAULTS = ("tests/faults", "-m", "faults and not long")
PAGES = ("tests/web",)
UNITS = tuple(f"--ignore=tests/{folder}" for folder in ("conformance", "engine", "guide", "web"))
# The engine's own tests and the recorded answers cover every branch of it; no test runs in two lanes for that.
ENGINE = (
    *("tests/engine", "tests/guide", "tests/conformance", "-m", "not long"),
    *("--cov=applyviz/engine", "--cov-branch", "--cov-report=term", "--cov-fail-under=100"),
)
# Processors that lanes share.
PROCESSORS = min(2, os.cpu_count() or 1)
# The load of a lane that mostly waits: for servers, browsers, controllers, pauses between retries.
WAITS = 0.5
# All processes use the faults of the day on which the test run began.
ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "tests.settings", "APPLYVIZ_FAULT_SEED": f"{time.time() // 86400:.0f}"}
_terminal = threading.Lock()


@dataclass(frozen=True)
class Lane:
    """One command; `lacks` returns what it requires and this machine lacks ("" for nothing).

    - `load`: the number of processors that it keeps busy.
    - `budget`: the seconds that it may take beside other lanes on two processors with warm caches; 0 sets none.
    """

    name: str
    command: tuple[str, ...]
    lacks: Callable[[], str] = lambda: ""
    is_pytest: bool = False
    load: float = 1.0
    budget: int = 0


@dataclass
class LaneResult:
    """The result of one lane; `processor_seconds` are those of its processes, without servers that outlive it."""

    lane: Lane
    reason: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
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


def lacks_renderers() -> str:
    """Build helm and kustomize if needed, so that the lane's time does not include it."""
    done = subprocess.run([str(BIN / "python"), "-m", "tests.renderers"], cwd=ROOT, capture_output=True, text=True)
    lines = done.stderr.strip().splitlines() or ["they cannot be built"]
    return lines[-1] if done.returncode else ""


def lacks_charts() -> str:
    return lacks_renderers() or lacks_chromium()


def lacks_install() -> str:
    return lacks_services() or lacks_renderers()


def lacks_faults() -> str:
    return lacks_services() or ("" if shutil.which("strace") else "no strace on this machine")


def pytest_lane(
    name: str, *options: str, lacks: Callable[[], str] = lambda: "", load: float = 1.0, budget: int = 0
) -> Lane:
    return Lane(name, (str(BIN / "pytest"), "-q", *SLOWEST, *options), lacks, True, load, budget)


def lanes(*, with_long: bool) -> list[Lane]:
    """Return all lanes: the checks without tests first, then those with tests, the longest first."""
    found = [*list_checks(), *sorted(list_test_lanes(), key=lambda lane: -lane.budget)]
    return [*found, pytest_lane("long", "-m", "long", "-n", "2", load=2.0)] if with_long else found


def list_checks() -> list[Lane]:
    """Return the lanes without tests."""
    manage = (str(BIN / "python"), "manage.py")
    return [
        Lane("format", (str(BIN / "ruff"), "format", "--check", "."), budget=5),
        Lane("lint", (str(BIN / "ruff"), "check", "."), budget=10),
        Lane("contracts", (str(BIN / "lint-imports"), "--no-logo"), budget=15),
        Lane("requirements", (str(BIN / "deptry"), "."), budget=10),
        Lane("dead code", (str(BIN / "python"), "-m", "scripts.dead_code"), budget=15),
        Lane("templates", (str(BIN / "djlint"), "templates", "--lint", "--quiet"), budget=20),
        Lane("migrations", (*manage, "makemigrations", "--check", "--dry-run"), budget=10),
        Lane("types", (str(BIN / "mypy"),), budget=35),
    ]


def list_test_lanes() -> list[Lane]:
    """Return the lanes that pytest runs."""
    return [
        pytest_lane("control plane", *CONTROL_PLANE, lacks=lacks_control_plane, load=WAITS, budget=360),
        pytest_lane("browser", *BROWSER, lacks=lacks_chromium, budget=300),
        pytest_lane("pages", *PAGES, budget=280),
        pytest_lane("units", *UNITS, budget=390),
        pytest_lane("faults", *FAULTS, lacks=lacks_faults, budget=230),
        pytest_lane("model", "tests/model", "-m", "model and not long", budget=180),
        pytest_lane("engine", *ENGINE, budget=150),
        pytest_lane("attacks", "tests/attacks", "-m", "attacks and not long", budget=180),
        pytest_lane("services", "tests/services", "-m", "services", lacks=lacks_services, budget=150),
        pytest_lane("promises", "tests/promises", "-m", "promises", lacks=lacks_services, budget=90),
        pytest_lane("start", "tests/start", "-m", "start", load=WAITS, budget=80),
        pytest_lane("install", "tests/install", "-m", "install", lacks=lacks_install, load=WAITS, budget=70),
        pytest_lane("renderers", "tests/rendering", "-m", "renderers", lacks=lacks_charts, budget=60),
    ]


def run(lane: Lane, *, is_alone: bool) -> LaneResult:
    """Run one lane; stream its output when it runs alone, else print it at the end."""
    print(f"\n=== {lane.name}", flush=True)
    started = time.monotonic()
    reason = lane.lacks()
    if reason:
        print(f"{lane.name} not run: {reason}", flush=True)
        return LaneResult(lane, reason=reason)
    with tempfile.TemporaryDirectory() as folder:
        outcome = carry_out(lane, Path(folder), is_alone=is_alone)
    outcome.seconds = time.monotonic() - started
    return outcome


def carry_out(lane: Lane, folder: Path, *, is_alone: bool) -> LaneResult:
    """Run the command of a lane and read its result."""
    command, report, log = lane.command, folder / "report.xml", folder / "log"
    if lane.is_pytest:
        # Tests record properties, which only this family of reports can hold.
        command = (*command, f"--junitxml={report}", "-o", "junit_family=xunit1", "-o", f"cache_dir={folder / 'cache'}")
    with log.open("wb") as kept:
        to = None if is_alone else kept
        environment = {**ENVIRONMENT, **os.environ}
        done = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=to, stderr=to)
        _, status, used = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
    if not is_alone:
        with _terminal:
            print(f"\n=== {lane.name} says\n{log.read_text(errors='replace')}", flush=True)
    outcome = read_report(lane, report) if lane.is_pytest else LaneResult(lane, passed=int(done.returncode == 0))
    outcome.processor_seconds = used.ru_utime + used.ru_stime
    if done.returncode != 0 and outcome.failed == 0:
        outcome.failed = 1
    return outcome


def read_report(lane: Lane, report: Path) -> LaneResult:
    """Read counts and reasons from pytest's report; a lane without any test has failed."""
    outcome = LaneResult(lane)
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


def run_all(chosen: Sequence[Lane]) -> list[LaneResult]:
    """Run lanes side by side as far as their loads fit; return the outcomes in the order of the lanes."""
    waiting, outcomes = list(chosen), dict[str, LaneResult]()
    running = dict[Future[LaneResult], Lane]()
    with ThreadPoolExecutor(len(chosen)) as pool:
        while waiting or running:
            free = PROCESSORS - sum(map(load_of, running.values()))
            lane = next((one for one in waiting if load_of(one) <= free), None)
            if lane is not None:
                waiting.remove(lane)
                is_alone = load_of(lane) >= PROCESSORS or len(chosen) == 1
                running[pool.submit(run, lane, is_alone=is_alone)] = lane
                continue
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                outcomes[running.pop(done).name] = done.result()
    return [outcomes[lane.name] for lane in chosen]


def load_of(lane: Lane) -> float:
    """Return the processors that a lane keeps busy on this machine, where one that needs two may have one."""
    return min(lane.load, PROCESSORS)


def render_table(outcomes: Sequence[LaneResult]) -> str:
    """Return one line per lane with its seconds and its budget, and below it the reasons of skipped tests."""
    head = (
        f"{'lane':<14} {'result':<8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8} {'CPU':>6} "
        f"{'budget':>6}  why not"
    )
    lines = [f"\n{head}"]
    for outcome in outcomes:
        result = ("FAILED" if outcome.failed else "passed") if outcome.was_run else "not run"
        skipped = sum(outcome.skips.values())
        counts = f"{outcome.passed:>6} {outcome.failed:>6} {skipped:>7} {outcome.seconds:>8.1f}"
        counts += f" {outcome.processor_seconds:>6.0f}"
        remark = "over budget" if outcome.is_over_budget else outcome.reason
        lines.append(f"{outcome.lane.name:<14} {result:<8} {counts} {outcome.lane.budget or '-':>6}  {remark}".rstrip())
        lines += [f"{'':<14} skipped {count:>6}  {reason}" for reason, count in sorted(outcome.skips.items())]
    return "\n".join(lines)


def budget_of(chosen: Iterable[Lane]) -> float:
    """Return the seconds that lanes may take together, on as many processors as they get."""
    return sum(lane.budget * load_of(lane) for lane in chosen) / PROCESSORS


def render_sum(outcomes: Sequence[LaneResult], seconds: float) -> str:
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
