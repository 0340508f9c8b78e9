"""Run lanes side by side and read their results: what `scripts/lanes.py` does with its list.

A test that fails is run again, alone, at the end of its lane, up to twice. One that passes then is unstable: a defect
to mend next, which does not cost the work of a day. One that fails three times has failed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Processors that lanes share.
PROCESSORS = min(2, os.cpu_count() or 1)
RETRIES = 2
# With more failures than this in one lane, something is broken: running each again would only cost time.
RETRIED_TESTS = 10
_terminal = threading.Lock()


@dataclass(frozen=True)
class Lane:
    """One command; `lacks` returns what it requires and this machine lacks ("" for nothing).

    - `retry`: the command that runs one test, without the node id of the test; empty when tests run once.
    - `load`: the number of processors that it keeps busy.
    - `budget`: the seconds that it may take beside other lanes on two processors of the speed that
      `lanes.REFERENCE_SECONDS` states, with warm caches; 0 sets none.
    """

    name: str
    command: tuple[str, ...]
    lacks: Callable[[], str] = lambda: ""
    is_pytest: bool = False
    load: float = 1.0
    budget: int = 0
    retry: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailedTest:
    """A test that failed: its node id for pytest, and the first line of its error with its place."""

    node: str
    error: str = ""


@dataclass
class LaneResult:
    """The result of one lane; `processor_seconds` are those of its processes, without servers that outlive it.

    - `failures`: what failed each time; `unstable`: what failed first and then passed, which counts as passed.
    - `is_earlier`: an earlier run of the same commit had this result.
    """

    lane: Lane
    reason: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skips: dict[str, int] = field(default_factory=dict)
    failures: list[FailedTest] = field(default_factory=list)
    unstable: list[FailedTest] = field(default_factory=list)
    is_earlier: bool = False

    @property
    def was_run(self) -> bool:
        return not self.reason

    def is_over_budget(self, pace: float = 1.0) -> bool:
        """Return whether the lane took longer than its budget on a machine of this pace."""
        return 0 < self.lane.budget * pace < self.seconds


def run_all(
    chosen: Sequence[Lane],
    environment: Mapping[str, str],
    keep: Callable[[LaneResult], None] = lambda result: None,
) -> list[LaneResult]:
    """Run lanes side by side as far as their loads fit; return the results in the order of the lanes.

    - `keep`: is given each result when its lane ends.
    """
    waiting, results = list(chosen), dict[str, LaneResult]()
    running = dict[Future[LaneResult], Lane]()
    with ThreadPoolExecutor(max(1, len(chosen))) as pool:
        while waiting or running:
            free = PROCESSORS - sum(map(load_of, running.values()))
            lane = next((one for one in waiting if load_of(one) <= free), None)
            if lane is not None:
                waiting.remove(lane)
                is_alone = load_of(lane) >= PROCESSORS or len(chosen) == 1
                running[pool.submit(run, lane, environment, is_alone=is_alone)] = lane
                continue
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                results[running.pop(done).name] = done.result()
                keep(done.result())
    return [results[lane.name] for lane in chosen]


def load_of(lane: Lane) -> float:
    """Return the processors that a lane keeps busy on this machine, where one that needs two may have one."""
    return min(lane.load, PROCESSORS)


def run(lane: Lane, environment: Mapping[str, str], *, is_alone: bool) -> LaneResult:
    """Run one lane and its retries; stream its output when it runs alone, else print it at the end."""
    print(f"\n=== {lane.name}", flush=True)
    started = time.monotonic()
    reason = lane.lacks()
    if reason:
        print(f"{lane.name} not run: {reason}", flush=True)
        return LaneResult(lane, reason=reason)
    result = _carry_out(lane, lane.command, environment, is_alone=is_alone)
    if lane.retry and len(result.failures) <= RETRIED_TESTS:
        _retry(result, environment)
    result.seconds = time.monotonic() - started
    return result


def _retry(result: LaneResult, environment: Mapping[str, str]) -> None:
    """Run each failed test again, alone, until it passes or has failed `RETRIES` times more."""
    for test in list(result.failures):
        for attempt in range(1, RETRIES + 1):
            print(f"\n=== {result.lane.name} again ({attempt} of {RETRIES}): {test.node}", flush=True)
            again = _carry_out(result.lane, (*result.lane.retry, test.node), environment, is_alone=False)
            result.processor_seconds += again.processor_seconds
            if again.passed and not again.failed:
                result.failures.remove(test)
                result.unstable.append(test)
                result.passed, result.failed = result.passed + 1, result.failed - 1
                break


def _carry_out(lane: Lane, command: tuple[str, ...], environment: Mapping[str, str], *, is_alone: bool) -> LaneResult:
    """Run one command of a lane and read its result; the exit status decides where no test is known to have failed."""
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "report.xml", Path(folder) / "log"
        if lane.is_pytest:
            # Tests record properties, which only this family of reports can hold; it also names the files of tests.
            cache = Path(folder) / "cache"
            command = (*command, f"--junitxml={report}", "-o", "junit_family=xunit1", "-o", f"cache_dir={cache}")
        with log.open("wb") as kept:
            to = None if is_alone else kept
            given = {**environment, **os.environ}
            done = subprocess.Popen(command, cwd=ROOT, env=given, stdin=subprocess.DEVNULL, stdout=to, stderr=to)
            _, status, used = os.wait4(done.pid, 0)
            done.returncode = os.waitstatus_to_exitcode(status)
        said = log.read_text(errors="replace")
        if not is_alone:
            with _terminal:
                print(f"\n=== {lane.name} says\n{said}", flush=True)
        result = read_report(lane, report) if lane.is_pytest else LaneResult(lane, passed=int(done.returncode == 0))
    result.processor_seconds = used.ru_utime + used.ru_stime
    if done.returncode != 0 and result.failed == 0:
        last = (said.strip().splitlines() or [""])[-1]
        result.failed, result.failures = 1, [FailedTest(lane.name, f"exit status {done.returncode}: {last}")]
    return result


def read_report(lane: Lane, report: Path) -> LaneResult:
    """Read counts and reasons from pytest's report; a lane without any test has failed."""
    result = LaneResult(lane)
    passed, failed = set[str](), dict[str, FailedTest]()
    cases = ET.parse(report).iter("testcase") if report.exists() else ()  # noqa: S314 - written by pytest just now
    for case in cases:
        node, skipped = _node_of(case), case.find("skipped")
        error = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
        if error is not None:
            failed.setdefault(node, FailedTest(node, _first_line(error)))
        elif skipped is None:
            passed.add(node)
        else:
            reason = skipped.get("message", "")
            result.skips[reason] = result.skips.get(reason, 0) + 1
    result.failures = list(failed.values())  # a test that passed and then failed in teardown is in both
    result.passed, result.failed = len(passed - failed.keys()), len(failed)
    return result


def _node_of(case: ET.Element) -> str:
    """Return the node id of a test: its file, its classes and its name."""
    file, name = case.get("file", ""), case.get("name", "")
    module = file.removesuffix(".py").replace("/", ".")
    classes = case.get("classname", "").removeprefix(module).strip(".").split(".")
    return "::".join(part for part in (file, *classes, name) if part)


def _first_line(error: ET.Element) -> str:
    """Return where a test failed and the first line of what it raised."""
    lines = (error.text or "").strip().splitlines()
    place = next((line.rpartition(": ")[0] for line in reversed(lines) if ".py:" in line), "")
    raised = next((line[1:].strip() for line in lines if line.startswith("E  ")), "")
    raised = raised or (error.get("message") or "").strip().partition("\n")[0]
    return f"{place}: {raised}" if place else raised
