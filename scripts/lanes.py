"""The lanes of `scripts/test`: what each runs, what it needs, and how the result is told.

A lane that lacks something it needs is reported as not run, with the reason; with `--require-all` that is a
failure. The last line is the sum of all lanes; the exit status is 1 when anything failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"


# Every branch of the engine is taken by its own tests and by the recorded answers.
ENGINE_BRANCHES = (
    *("tests/engine", "tests/guide", "tests/conformance", "-m", "not long"),
    *("--cov=applyviz/engine", "--cov-branch", "--cov-report=term", "--cov-fail-under=100"),
)


@dataclass(frozen=True)
class Lane:
    """One command; `lacks` says what keeps it from running ("" when nothing does)."""

    name: str
    command: tuple[str, ...]
    lacks: Callable[[], str] = lambda: ""
    is_pytest: bool = False


@dataclass
class Outcome:
    """What became of one lane."""

    lane: Lane
    reason: str = ""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skips: dict[str, int] = field(default_factory=dict)

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
            print(line, end="", flush=True)
            last = line.strip() or last
    return last if build.returncode else ""


def lacks_faults() -> str:
    return lacks_services() or ("" if shutil.which("strace") else "no strace on this machine")


def pytest_lane(name: str, *options: str, lacks: Callable[[], str] = lambda: "") -> Lane:
    return Lane(name, (str(BIN / "pytest"), "-q", *options), lacks, is_pytest=True)


def lanes(*, with_long: bool) -> list[Lane]:
    """All lanes, quick ones first."""
    manage = (str(BIN / "python"), "manage.py")
    found = [
        Lane("format", (str(BIN / "ruff"), "format", "--check", ".")),
        Lane("lint", (str(BIN / "ruff"), "check", ".")),
        Lane("types", (str(BIN / "mypy"),)),
        Lane("contracts", (str(BIN / "lint-imports"), "--no-logo")),
        Lane("templates", (str(BIN / "djlint"), "templates", "--lint", "--quiet")),
        Lane("migrations", (*manage, "makemigrations", "--check", "--dry-run")),
        pytest_lane("units", "-n", "2"),
        pytest_lane("conformance", "-m", "conformance"),
        pytest_lane("branches", *ENGINE_BRANCHES),
        pytest_lane("model", "-m", "model", "-n", "2"),
        pytest_lane("promises", "-m", "promises", "-n", "2", "--dist", "loadfile", lacks=lacks_services),
        pytest_lane("faults", "-m", "faults and not long", "-n", "2", "--dist", "loadfile", lacks=lacks_faults),
        pytest_lane("start", "-m", "start"),
        pytest_lane("browser", "-m", "e2e", lacks=lacks_chromium),
        pytest_lane("services", "-m", "services", lacks=lacks_services),
        pytest_lane("control plane", "-m", "controlplane", lacks=lacks_control_plane),
    ]
    return [*found, pytest_lane("long", "-m", "long", "-n", "2")] if with_long else found


def run(lane: Lane) -> Outcome:
    """Run one lane, its output on this terminal."""
    print(f"\n=== {lane.name}", flush=True)
    started = time.monotonic()
    reason = lane.lacks()
    if reason:
        print(f"not run: {reason}", flush=True)
        return Outcome(lane, reason=reason)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "tests.settings")}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        extra = (f"--junitxml={report}",) if lane.is_pytest else ()
        code = subprocess.run([*lane.command, *extra], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL).returncode
        outcome = read_report(lane, report) if lane.is_pytest else Outcome(lane, passed=int(code == 0))
    if code != 0 and outcome.failed == 0:
        outcome.failed = 1
    outcome.seconds = time.monotonic() - started
    return outcome


def read_report(lane: Lane, report: Path) -> Outcome:
    """Counts and reasons from pytest's own report; a lane without one test has failed."""
    outcome = Outcome(lane)
    cases = list(ET.parse(report).iter("testcase")) if report.exists() else []  # noqa: S314 - written by pytest just now
    for case in cases:
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
        elif skipped is None:
            outcome.passed += 1
        else:
            reason = skipped.get("message", "")
            outcome.skips[reason] = outcome.skips.get(reason, 0) + 1
    return outcome


def render_table(outcomes: Sequence[Outcome]) -> str:
    """One line per lane; beneath it the reasons why tests in it were skipped."""
    lines = [f"\n{'lane':<14} {'result':<8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8}  why not"]
    for outcome in outcomes:
        result = ("FAILED" if outcome.failed else "passed") if outcome.was_run else "not run"
        skipped = sum(outcome.skips.values())
        counts = f"{outcome.passed:>6} {outcome.failed:>6} {skipped:>7} {outcome.seconds:>8.1f}"
        lines.append(f"{outcome.lane.name:<14} {result:<8} {counts}  {outcome.reason}".rstrip())
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
    outcomes = [run(lane) for lane in chosen]
    if options.require_all:
        for outcome in outcomes:
            outcome.failed += not outcome.was_run
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    print(render_table(outcomes))
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
