"""The lanes of `scripts/test`: their commands and their requirements.

A lane without its requirements is reported as not run, with the reason; `--require-all` makes that a failure.
Lanes run side by side as long as their loads fit into two processors: a lane that computes fills one, a lane that
mostly waits for other processes fills half. The checks without tests come first, then the longest lane that fits, so
that no processor idles at the end. A test that fails is run again, alone, up to twice; one that passes then is listed
as unstable. `--strict`, or more than three unstable tests, makes that a failure. `--resume` leaves out each lane that
passed before on the same commit, so that a long run can be made in parts. Each lane has a budget in seconds,
scaled by a small calculation that is timed at the start, and a lane that took longer is named. Failures are listed
last; the exit status is 1 when there are any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.lane_records import commit_of, keep_result, recall_results
from scripts.lane_reports import render_failures, render_sum, render_table, render_unstable, write_report
from scripts.lane_runs import ROOT, FailedTest, Lane, LaneResult, run_all

BIN = ROOT / ".venv" / "bin"


# A lane over its budget says where its time went.
SLOWEST = ("--durations=12", "--durations-min=3")
# What holds for files of the repository, not for the product that runs.
HOUSE = "tests/architecture tests/scripts"
NOT_UNITS = tuple(
    f"--ignore=tests/{folder}" for folder in ("architecture", "conformance", "engine", "guide", "scripts", "web")
)
BROWSER = "e2e and not long or visual and not long"
ENGINE = "tests/engine tests/guide tests/conformance"
# The engine's own tests and the recorded answers cover every branch of it; no test runs in two lanes for that.
COVERAGE = ("--cov=applyviz/engine", "--cov-branch", "--cov-report=term", "--cov-fail-under=100")
# The load of a lane that waits for half of its time: for pages, servers, controllers, pauses between retries.
WAITS = 0.5
# What depends on the time of day most: windows and scheduled starts, leases, expiry, days and axes of pages.
TIMED = (
    *("tests/workflow/test_clock.py", "tests/workflow/test_scheduled_starts.py", "tests/workflow/test_quorum.py"),
    *("tests/workflow/test_authorization_at_claim.py", "tests/workflow/test_retry.py", "tests/workflow/test_tokens.py"),
    *("tests/workflow/test_evidence.py", "tests/web/history", "tests/web/runs/test_scheduled_start_pages.py"),
)
# Of these, what every run tries at one moment: each kind of time once. `--long` tries all at every moment.
TIMED_CORE = (
    *(f"tests/workflow/test_{name}.py" for name in ("clock", "scheduled_starts", "quorum", "tokens", "evidence")),
    "tests/workflow/test_authorization_at_claim.py",
    "tests/workflow/test_retry.py::test_approval_that_expired_carries_no_retry",
    "tests/workflow/test_retry.py::test_window_must_be_open_for_the_retry_and_its_worker",
    "tests/web/history/test_evidence.py::test_evidence_of_the_month_is_shown_without_being_asked",
    *(f"tests/web/history/test_{name}.py" for name in ("forgiving_filters", "history", "entry_pages")),
)
# Moments at which these run, each with the time zone of the settings: ends of days, weeks, months and years, a leap
# day, and the minute before each change of summer time in Berlin and New York.
MOMENTS = (
    ("2026-11-26T12:00:00+00:00", "UTC"),
    ("2026-11-29T23:59:30+00:00", "UTC"),  # a Sunday
    ("2026-12-31T23:59:30+00:00", "UTC"),
    ("2027-02-28T23:00:00+00:00", "UTC"),
    ("2028-02-29T12:00:00+00:00", "UTC"),
    ("2027-03-28T00:59:30+00:00", "Europe/Berlin"),
    ("2027-10-31T00:59:30+00:00", "Europe/Berlin"),
    ("2027-03-14T06:59:30+00:00", "America/New_York"),
    ("2027-11-07T05:59:30+00:00", "America/New_York"),
    ("2031-11-26T12:00:00+00:00", "UTC"),
)
MOMENT_NAME = "APPLYVIZ_TEST_MOMENT"
# More unstable tests than this are a broken build.
UNSTABLE_TESTS = 3
REPORT = ROOT / "var" / "test-report"
# What `time_calculation` takes on the machine for which the budgets are written.
REFERENCE_SECONDS = 0.060
# A run that decides whether work is accepted has the same faults every day.
FAULT_SEED = 20_000


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
    name: str,
    folders: str,
    *options: str,
    lacks: Callable[[], str] = lambda: "",
    load: float = 1.0,
    budget: int = 0,
) -> Lane:
    """Return the lane that runs the tests of these folders (separated by spaces; "" for all that options leave)."""
    one = (str(BIN / "pytest"), "-q", *options)
    return Lane(name, (*one, *SLOWEST, *folders.split()), lacks, True, load, budget, retry=one)


def lanes(*, with_long: bool) -> list[Lane]:
    """Return all lanes: the checks without tests first, then those with tests, the longest first."""
    found = [*list_checks(), *sorted(list_test_lanes(), key=lambda lane: -lane.budget)]
    return [*found, *list_long_lanes()] if with_long else found


def list_long_lanes() -> list[Lane]:
    """Return the lanes that only `--long` runs: the breadth of each lane, and the coverage of the engine."""
    coverage = pytest_lane("coverage", ENGINE, "-m", "not long or covering", *COVERAGE)
    # A test that passes the second time adds nothing to the coverage of the first.
    return [*list_calendar_lanes(), replace(coverage, retry=()), *map(breadth_of, list_folders())]


def list_folders() -> list[Lane]:
    """Return the lanes whose folders hold all tests, each test in one of them; the units have what the others leave."""
    found = [lane for lane in list_test_lanes() if any(word.startswith("tests/") for word in lane.command)]
    found = [lane for lane in found if lane.name != "calendar"]
    taken = sorted({word for lane in found for word in lane.command if word.startswith("tests/")})
    return [*found, pytest_lane("units", "", *(f"--ignore={folder}" for folder in taken))]


def breadth_of(lane: Lane) -> Lane:
    """Return the lane that runs the long tests of a lane's folders, in two processes."""
    folders = [word for word in lane.command if word.startswith(("tests/", "--ignore="))]
    long = pytest_lane(f"long {lane.name}", "", "-m", "long", "-n", "2", *folders, lacks=lane.lacks, load=2.0)
    return replace(long, retry=(str(BIN / "pytest"), "-q", "-m", ""))


def calendar_lane(name: str, moment: str, zone: str, options: Sequence[str], *, budget: int = 0) -> Lane:
    """Return the lane that runs tests which begin at a moment, with a time zone in the settings."""
    at = ("env", f"{MOMENT_NAME}={moment}", f"TZ={zone}")
    lane = pytest_lane(name, "", *options, budget=budget)
    return replace(lane, command=(*at, *lane.command), retry=(*at, str(BIN / "pytest"), "-q"))


def list_calendar_lanes() -> list[Lane]:
    """Return one lane for each moment of the calendar, and all units on a leap day in another time zone."""
    timed = [calendar_lane(f"calendar {moment[:16]}", moment, zone, TIMED) for moment, zone in MOMENTS]
    return [*timed, calendar_lane("calendar units", "2028-02-29T22:30:00+00:00", "America/New_York", NOT_UNITS)]


def choose_moment(day: int) -> tuple[str, str]:
    """Return the moment and the time zone at which what depends on the time runs on this day, beside its own moment."""
    return MOMENTS[day % len(MOMENTS)]


def list_checks() -> list[Lane]:
    """Return the lanes without tests."""
    manage = (str(BIN / "python"), "manage.py")
    return [
        Lane("format", (str(BIN / "ruff"), "format", "--check", "."), budget=3),
        Lane("lint", (str(BIN / "ruff"), "check", "."), budget=3),
        Lane("contracts", (str(BIN / "lint-imports"), "--no-logo"), budget=3),
        Lane("requirements", (str(BIN / "deptry"), "."), budget=3),
        Lane("dead code", (str(BIN / "python"), "-m", "scripts.dead_code"), budget=28),
        Lane("templates", (str(BIN / "djlint"), "templates", "--lint", "--quiet"), budget=4),
        Lane("migrations", (*manage, "makemigrations", "--check", "--dry-run"), budget=5),
        Lane("types", (str(BIN / "mypy"),), budget=48),
    ]


def list_test_lanes() -> list[Lane]:
    """Return the lanes that pytest runs."""
    moment, zone = choose_moment(int(time.time() // 86400))
    return [
        calendar_lane("calendar", moment, zone, TIMED_CORE, budget=37),
        pytest_lane(
            "control plane",
            "tests/controlplane",
            *("-m", "controlplane and not long"),
            lacks=lacks_control_plane,
            load=WAITS,
            budget=155,
        ),
        # Pictures come first: walks change the demo that both look at.
        pytest_lane("browser", "tests/visual tests/e2e", "-m", BROWSER, lacks=lacks_chromium, load=WAITS, budget=300),
        pytest_lane("pages", "tests/web", budget=275),
        pytest_lane("units", "", *NOT_UNITS, budget=320),
        pytest_lane("house", HOUSE, budget=52),
        pytest_lane("faults", "tests/faults", "-m", "faults and not long", lacks=lacks_faults, budget=90),
        pytest_lane("model", "tests/model", "-m", "model and not long", budget=32),
        pytest_lane("engine", ENGINE, "-m", "not long", budget=125),
        pytest_lane("attacks", "tests/attacks", "-m", "attacks and not long", budget=220),
        pytest_lane("services", "tests/services", "-m", "services and not long", lacks=lacks_services, budget=125),
        pytest_lane("promises", "tests/promises", "-m", "promises and not long", lacks=lacks_services, budget=60),
        pytest_lane("start", "tests/start", "-m", "start and not long", load=WAITS, budget=105),
        pytest_lane(
            "install", "tests/install", "-m", "install and not long", lacks=lacks_install, load=WAITS, budget=105
        ),
        pytest_lane("renderers", "tests/rendering", "-m", "renderers and not long", lacks=lacks_charts, budget=34),
    ]


def make_environment(*, with_long: bool) -> dict[str, str]:
    """Return what all lanes are given: the faults are always the same, with `--long` those of the day it began."""
    seed = int(time.time() // 86400) if with_long else FAULT_SEED
    return {"DJANGO_SETTINGS_MODULE": "tests.settings", "APPLYVIZ_FAULT_SEED": str(seed)}


def time_calculation(steps: int = 1_000_000, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of a small calculation, the best of five: it distinguishes a slow machine from a slow test.

    - `steps`: how much of it is calculated; the answer is the time of all of it.
    """

    def calculate() -> float:
        began, total = clock(), 0
        for number in range(steps):
            total += number % 7
        return (clock() - began) * 1_000_000 / steps

    return min(calculate() for _ in range(5))


def is_good(results: Sequence[LaneResult], *, is_strict: bool) -> bool:
    """Return whether nothing failed, and not more tests were unstable than may be."""
    unstable = sum(len(result.unstable) for result in results)
    return not any(result.failed for result in results) and unstable <= (0 if is_strict else UNSTABLE_TESTS)


def run_rest(
    chosen: Sequence[Lane], kept: Mapping[str, LaneResult], environment: Mapping[str, str]
) -> list[LaneResult]:
    """Run the lanes without a kept result, keep each result as it comes, and return all in the order of the lanes."""
    rest = [lane for lane in chosen if lane.name not in kept]
    began_at = commit_of(ROOT)
    ran = run_all(rest, environment, lambda result: keep_result(result, began_at, ROOT, REPORT))
    found = {**kept, **{result.lane.name: result for result in ran}}
    return [found[lane.name] for lane in chosen]


def print_report(results: Sequence[LaneResult], seconds: float, pace: float) -> None:
    """Print the table, the sum, what was unstable, what failed, and last the counts."""
    print(render_table(results, pace))
    print(render_sum(results, seconds, pace))
    for title, text in (("unstable", render_unstable(results)), ("failed", render_failures(results))):
        if text:
            print(f"\n{title}:\n{text}")
    print(f"\n{sum(r.passed for r in results)} passed, {sum(r.failed for r in results)} failed")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__)
    parser.add_argument("--require-all", action="store_true", help="a lane that cannot run is a failure")
    parser.add_argument("--long", action="store_true", help="also run the lanes that take too long for every run")
    parser.add_argument("--strict", action="store_true", help="an unstable test is a failure")
    parser.add_argument("--resume", action="store_true", help="leave out what passed before on this commit")
    parser.add_argument("--only", action="append", metavar="LANE", help="run this lane only (repeatable)")
    parser.add_argument("--list", action="store_true", help="list the lanes and stop")
    options = parser.parse_args()
    chosen = [lane for lane in lanes(with_long=options.long) if not options.only or lane.name in options.only]
    if options.list or not chosen:
        print("\n".join(lane.name for lane in lanes(with_long=True)))
        return 0 if options.list else 2
    if options.resume and not commit_of(ROOT):
        parser.error("--resume: the clone has changes that are not committed, so no earlier result is one of it")
    kept = recall_results(chosen, ROOT, REPORT) if options.resume else {}
    pace, began = max(1.0, time_calculation() / REFERENCE_SECONDS), time.monotonic()
    results = run_rest(chosen, kept, make_environment(with_long=options.long))
    for result in results:
        if options.require_all and not result.was_run:
            result.failed, result.failures = 1, [FailedTest(result.lane.name, f"not run: {result.reason}")]
    write_report(results, REPORT)
    print_report(results, time.monotonic() - began, pace)
    return 0 if is_good(results, is_strict=options.strict) else 1


if __name__ == "__main__":
    sys.exit(main())
