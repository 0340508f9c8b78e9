"""Two workers that both believe they own a run, and other things that one fault alone does not bring about."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.faults.checker import find_violations
from tests.faults.kill_trials import config_map, wait_until_halted

pytestmark = pytest.mark.faults


def _halt(stage, run, point):
    pid = stage.forge.fork("work", run_id=run, failpoint=f"{point}:stop")
    assert wait_until_halted(pid)
    return pid


def _go_on(stage, pid):
    os.kill(pid, signal.SIGCONT)
    stage.forge.wait(pid)


def _judge(stage, run):
    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    return history


@pytest.mark.core(1)
@pytest.mark.parametrize("second", ["run.checked", "run.intended", "run.claimed", "run.object"])
@pytest.mark.parametrize("first", ["run.checked", "run.intended"])
def test_late_write_of_a_frozen_worker_spoils_nothing(stage, first, second):
    """The first freezes before it sends, the second takes over and freezes too; then the first goes on."""
    stage.seed()
    run = stage.forge.call("stage", texts=[config_map("changed", x="2", y="1")])
    stage.listen()
    frozen = _halt(stage, run, first)
    stage.forge.call("let_leases_run_out")
    other = _halt(stage, run, second)
    _go_on(stage, frozen)
    _go_on(stage, other)
    stage.forge.call("finish", run_id=run)

    history = _judge(stage, run)
    assert history.runs[0].state == "applied", [(i.outcome, i.detail) for i in history.runs[0].items]
    assert sum(e.is_effective for e in history.exchanges) == 1


def test_worker_that_freezes_in_a_transaction_does_not_hold_everybody_up(stage):
    run = stage.bring()
    frozen = _halt(stage, run, "run.intending")
    began = time.monotonic()
    stage.forge.call("finish", run_id=run)
    waited = time.monotonic() - began
    _go_on(stage, frozen)

    history = _judge(stage, run)
    assert history.runs[0].state == "applied", history.runs[0].error
    assert waited < 15, "a third of the lease, and the time to do the work"


def test_eight_workers_at_once_write_once(stage):
    run = stage.bring()
    pids = [stage.forge.fork("work", run_id=run, is_halted=True) for _ in range(8)]
    for pid in pids:
        assert wait_until_halted(pid)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    for pid in pids:
        stage.forge.wait(pid)

    history = _judge(stage, run)
    assert (history.runs[0].state, history.runs[0].epoch) == ("applied", 1)
    assert sum(e.is_effective for e in history.exchanges) == 3


def test_worker_that_is_killed_again_and_again_comes_to_an_end(stage):
    run = stage.bring()
    for point in ("run.claimed", "run.intended", "run.answered", "run.recorded", "run.concluding", "run.ending"):
        stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point))
        stage.forge.call("let_leases_run_out")
    stage.forge.call("finish", run_id=run)

    history = _judge(stage, run)
    assert (history.runs[0].state, history.runs[0].epoch) == ("applied", 7)
    assert sum(e.is_effective for e in history.exchanges) == 3


@pytest.mark.long
def test_retry_whose_processes_are_killed_again_and_again_writes_once(stage):
    """One object is refused; its retry loses web processes and workers, and two clicks make one attempt."""
    stage.seed()
    run = stage.forge.call("stage", texts=[config_map("changed", x="2", y="1"), config_map("refused", a="1")])
    stage.listen()
    stage.api.choose = lambda seen, number: "403" if seen.is_write and "refused" in f"{seen.path}{seen.body}" else ""
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    stage.api.choose = lambda seen, number: ""
    stage.forge.wait(stage.forge.fork("retry", run_id=run, failpoint="retry.begun"))
    assert (stage.tell(run).runs[0].state, stage.forge.call("count_attempts", run_id=run)) == ("failed", 0)
    clicks = [stage.forge.fork("retry", run_id=run, is_halted=True) for _ in range(3)]
    for pid in clicks:
        assert wait_until_halted(pid)
        os.kill(pid, signal.SIGCONT)
    assert sorted(stage.forge.wait(pid) == 0 for pid in clicks) == [False, False, True]
    for point in ("run.claimed", "run.checked", "run.intended", "run.answered", "run.concluding", "run.ending"):
        stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point))
        stage.forge.call("let_leases_run_out")
    stage.forge.call("finish", run_id=run)

    history = _judge(stage, run)
    assert (history.runs[0].state, stage.forge.call("count_attempts", run_id=run)) == ("applied", 1)
    assert sum(e.is_effective for e in history.exchanges) == 2


@pytest.mark.long
def test_edit_and_confirmation_at_once_do_not_both_pass(stage):
    stage.seed()
    for n in range(6):
        plan = stage.forge.call("plan", texts=[config_map(f"raced-{n}", x="1")])
        stage.forge.call("approve", plan_id=plan)
        both = [
            stage.forge.fork("edit", plan_id=plan, texts=[config_map(f"raced-{n}", x="2")], is_halted=True),
            stage.forge.fork("start", plan_id=plan, is_halted=True),
        ]
        for pid in both:
            assert wait_until_halted(pid)
        for pid in both[:: 1 if n % 2 else -1]:
            os.kill(pid, signal.SIGCONT)
        edited, started = (stage.forge.wait(pid) == 0 for pid in both)

        assert edited != started, "one of them, and not both"
        assert stage.forge.call("count_later", plan_id=plan) == edited


@pytest.mark.long
def test_plans_that_overlap_end_as_one_after_the_other_would(stage):
    stage.seed()
    texts = [[config_map("changed", x=str(n), y="1"), config_map(f"own-{n}", x="1")] for n in range(10, 18)]
    runs = [stage.forge.call("stage", texts=each) for each in texts]
    stage.listen()
    for group in (runs[:4], runs[4:]):
        pids = [stage.forge.fork("work", run_id=run, is_halted=True) for run in group]
        for pid in pids:
            assert wait_until_halted(pid)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        for pid in pids:
            stage.forge.wait(pid)
    for run in runs:  # those that waited for one before them
        stage.forge.call("finish", run_id=run)

    history = stage.tell(*runs)
    assert [str(v) for v in find_violations(history)] == []
    states = [run.state for run in history.runs]
    written = [e for e in history.exchanges if e.is_effective and e.place.endswith("/changed")]
    assert (states.count("applied"), len(written)) == (1, 1), states
    assert set(states) <= {"applied", "stale", "failed"}
