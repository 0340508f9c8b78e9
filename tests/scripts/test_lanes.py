"""What `scripts/test` does: lanes run side by side, each has a budget, and a failed test is run again, alone."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import lane_reports, lane_runs, lanes
from tests.conftest import count_core

TESTS = Path(__file__).parents[1]
TESTED = """
from pathlib import Path
import pytest

def fail_times(name, times):
    seen = Path(__file__).with_name(name)
    count = len(seen.read_text()) if seen.exists() else 0
    seen.write_text("x" * (count + 1))
    assert count >= times, f"{{name}} failed before"

class TestSome:
    @pytest.mark.parametrize("value", ["a b", "::[x]"])
    def test_passes(self, value):
        fail_times("named" + str(len(value)), {once})

def test_fails_twice():
    fail_times("twice", {twice})

def test_fails_always():
    fail_times("always", {always})

def test_skips_when_run_again():
    if {skips}:
        if Path(__file__).with_name("skips").exists():
            pytest.skip("not again")
        fail_times("skips", 1)
"""


def run(folder: Path, *, once: int = 0, twice: int = 0, always: int = 0, skips: int = 0) -> lane_runs.LaneResult:
    """The result of a lane with tests that fail so many times before they pass."""
    (folder / "test_it.py").write_text(TESTED.format(once=once, twice=twice, always=always, skips=skips))
    one = (sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", f"--rootdir={folder}")
    lane = lane_runs.Lane("some", (*one, str(folder)), is_pytest=True, retry=(*one, "--import-mode=importlib"))
    # Loading the plugins of this suite takes most of the time of a process that has four tests.
    return lane_runs.run(lane, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, is_alone=False)


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch, tmp_path):
    """Lanes start at the top of their clone, which node ids are relative to."""
    monkeypatch.setattr(lane_runs, "ROOT", tmp_path)


def test_test_that_passes_the_second_or_third_time_is_unstable_and_counts_as_passed(tmp_path):
    result = run(tmp_path, once=1, twice=2)

    assert [test.node for test in result.unstable] == [
        "test_it.py::TestSome::test_passes[a b]",
        "test_it.py::TestSome::test_passes[::[x]]",
        "test_it.py::test_fails_twice",
    ]
    assert (result.passed, result.failed, result.failures) == (5, 0, [])
    assert lanes.is_good([result], is_strict=False)
    assert not lanes.is_good([result], is_strict=True)
    assert not lanes.is_good([result, result], is_strict=False)  # six are more than three
    assert "test_it.py::test_fails_twice\n    test_it.py:9: AssertionError: twice failed before" in (
        lane_reports.render_unstable([result])
    )


def test_test_that_fails_three_times_fails_its_lane_and_is_named_with_its_error(tmp_path):
    result = run(tmp_path, always=3)

    assert (result.passed, result.failed, result.unstable) == (4, 1, [])
    assert not lanes.is_good([result], is_strict=False)
    assert "some                 FAILED" in lane_reports.render_table([result])
    assert lane_reports.render_failures([result]) == (
        "some: test_it.py::test_fails_always\n    test_it.py:9: AssertionError: always failed before"
    )


@pytest.mark.long
def test_test_that_skips_the_second_time_has_failed(tmp_path):
    result = run(tmp_path, skips=1)

    assert [test.node for test in result.failures] == ["test_it.py::test_skips_when_run_again"]


@pytest.mark.long
def test_lane_with_many_failures_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lane_runs, "RETRIED_TESTS", 1)

    result = run(tmp_path, twice=1, always=3)

    assert (result.failed, result.unstable) == (2, [])


def test_lane_that_ends_without_a_test_names_its_last_line(tmp_path):
    lane = lane_runs.Lane("some", (sys.executable, "-c", "print('why'); raise SystemExit(3)"))

    result = lane_runs.run(lane, {}, is_alone=False)

    assert lane_reports.render_failures([result]) == "some: some\n    exit status 3: why"


@pytest.mark.long
def test_report_names_what_failed_and_what_was_unstable(tmp_path, capsys):
    result = run(tmp_path, twice=1, always=3)

    lane_reports.write_report([result], tmp_path / "report")
    lanes.print_report([result], 1.0, 1.0)

    assert "test_fails_twice" in (tmp_path / "report" / "unstable.txt").read_text()
    assert "test_fails_always" in (tmp_path / "report" / "failed.txt").read_text()
    assert capsys.readouterr().out.endswith(
        "failed:\nsome: test_it.py::test_fails_always\n    test_it.py:9: AssertionError: always failed before\n"
        "\n4 passed, 1 failed\n"
    )


def test_faults_are_the_same_every_day_but_for_the_long_run(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 86400.0 * 7)

    seeds = {long: lanes.make_environment(with_long=long)["APPLYVIZ_FAULT_SEED"] for long in (False, True)}

    assert seeds == {False: str(lanes.FAULT_SEED), True: "7"}


def test_case_with_an_archive_has_the_same_name_in_every_process(request):
    name = request.config.hook.pytest_make_parametrize_id

    assert {name(config=request.config, val=gzip.compress(b"x", mtime=n), argname="data") for n in (1, 2)} == {"data"}
    assert name(config=request.config, val="x", argname="data") is None  # a text names its case


@pytest.mark.parametrize(
    ("markers", "fixtures", "cases"),
    [
        ({}, ["tmp_path"], sys.maxsize),
        ({}, ["bob", "db"], 2),
        ({"django_db": pytest.mark.django_db.mark}, [], 2),
        ({"django_db": pytest.mark.django_db.mark, "core": pytest.mark.core(5).mark}, ["db"], 5),
    ],
    ids=["no database", "fixture", "marker", "number"],
)
def test_core_of_a_test_is_what_it_says_or_two_cases_with_a_database(markers, fixtures, cases):
    assert count_core(SimpleNamespace(get_closest_marker=markers.get, fixturenames=fixtures)) == cases


def test_every_lane_with_tests_can_run_one_of_them_again():
    every = {lane.name: lane for lane in lanes.lanes(with_long=True)}

    assert {name for name, lane in every.items() if lane.is_pytest and not lane.retry} == {"coverage"}
    for lane in every.values():
        if lane.name.startswith("long "):
            assert lane.retry[-2:] == ("-m", "")  # a single case is part of its core
        elif lane.retry:
            assert "-m" not in lane.command or lane.retry[lane.retry.index("-m") + 1] in lane.command
            assert not [word for word in lane.retry if word.startswith(("tests/", "--cov"))]


def test_lane_that_takes_longer_than_its_budget_is_named():
    slow, quick = (
        lane_runs.LaneResult(lane_runs.Lane(name, (), budget=30), seconds=seconds, processor_seconds=12.0, passed=1)
        for name, seconds in (("slow", 31.0), ("quick", 29.0))
    )

    table = lane_reports.render_table([slow, quick]).splitlines()

    assert [line.split()[6:] for line in table if line.startswith(("slow", "quick"))] == [
        ["31.0", "12", "30", "over", "budget"],
        ["29.0", "12", "30"],
    ]
    assert lane_reports.render_sum([slow, quick], 60.0).endswith("over budget: slow")
    on_a_slow_machine = lane_reports.render_sum([slow, quick], 60.0, 2.0)
    assert on_a_slow_machine.endswith("budget 60 (2.0 times that of the reference machine); over budget: none")


def test_every_lane_has_a_budget_and_all_together_fit_into_fifteen_minutes_on_two_processors(monkeypatch):
    monkeypatch.setattr(lane_runs, "PROCESSORS", 2)
    monkeypatch.setattr(lane_reports, "PROCESSORS", 2)
    every = lanes.lanes(with_long=False)

    assert [lane.name for lane in every if not lane.budget] == []
    assert lane_reports.budget_of(every) <= 15 * 60


WAIT = """
import pathlib, time
folder, own = pathlib.Path({folder!r}), {name!r}
(folder / own).touch()
deadline = time.monotonic() + 60
while not all((folder / n).exists() for n in {others!r}):
    assert time.monotonic() < deadline
assert not any((folder / n).exists() for n in {later!r})
"""


def wait_for(folder: Path, name: str, load: float, *, others: str = "", later: str = "") -> lane_runs.Lane:
    """A lane that ends once others have started, and fails when a later one has."""
    text = WAIT.format(folder=str(folder), name=name, others=others, later=later)
    return lane_runs.Lane(name, (sys.executable, "-c", text), load=load)


def test_lanes_run_side_by_side_as_far_as_their_loads_go(tmp_path, monkeypatch):
    monkeypatch.setattr(lane_runs, "PROCESSORS", 2)
    chosen = [
        wait_for(tmp_path, "a", 2.0, later="bcd"),
        wait_for(tmp_path, "b", 1.0, others="cd"),
        wait_for(tmp_path, "c", 0.5, others="bd"),
        wait_for(tmp_path, "d", 0.5, others="bc", later="e"),
        wait_for(tmp_path, "e", 1.5),
    ]

    outcomes = lane_runs.run_all(chosen, {})

    assert [(o.lane.name, o.passed, o.failed) for o in outcomes] == [(name, 1, 0) for name in "abcde"]


def test_lanes_with_tests_come_after_the_checks_and_the_longest_first():
    every = lanes.lanes(with_long=False)

    assert [lane.is_pytest for lane in every] == sorted(lane.is_pytest for lane in every)
    budgets = [lane.budget for lane in every if lane.is_pytest]
    assert budgets == sorted(budgets, reverse=True)


def test_folder_of_a_lane_without_a_marker_is_left_out_of_the_units():
    every = {lane.name: lane.command for lane in lanes.list_test_lanes()}
    folders = {name: [word for word in command if word.startswith("tests/")] for name, command in every.items()}
    left_out = {word.removeprefix("--ignore=") for word in every["units"] if word.startswith("--ignore=")}

    assert left_out == {*folders["engine"], *folders["pages"], *folders["house"]}
    assert [name for name, found in folders.items() if name != "units" and not found] == []


IN_FOLDERS = {
    (tuple(word for word in lane.command if word.startswith("tests/")), marker)
    for lane in lanes.lanes(with_long=False)
    if lane.is_pytest and "-m" in lane.command and lane.name != "engine"
    for marker in re.findall(r"(\w+) and not long", lane.command[lane.command.index("-m") + 1])
}


@pytest.mark.parametrize(("folders", "marker"), sorted(IN_FOLDERS))
def test_lane_looks_where_all_its_tests_are(folders, marker):
    marked = re.compile(rf"pytest\.mark\.{marker}\b")
    found = {path.relative_to(TESTS.parent) for path in TESTS.rglob("test_*.py") if marked.search(path.read_text())}

    assert found
    assert {str(path) for path in found if not any(path.is_relative_to(folder) for folder in folders)} == set()


def test_long_test_of_each_folder_belongs_to_one_lane():
    long = [lane for lane in lanes.list_long_lanes() if lane.name.startswith("long ")]
    chosen = [{word for word in lane.command if word.startswith("tests/")} for lane in long]
    rest = {word.removeprefix("--ignore=") for lane in long for word in lane.command if word.startswith("--ignore=")}

    assert [lane.name for lane, folders in zip(long, chosen, strict=True) if not folders] == ["long units"]
    assert sorted(rest) == sorted(folder for folders in chosen for folder in folders)
    assert [folder for folder in rest if not (TESTS.parent / folder).is_dir()] == []
