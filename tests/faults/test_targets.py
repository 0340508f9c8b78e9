"""What changes under a run that waits or is on its way: the cluster behind the name, rights, other confirmations."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.apiserver import ApiServer
from tests.faults.checker import find_violations
from tests.faults.history import History
from tests.faults.kill_trials import Stage, config_map, wait_until_halted

pytestmark = pytest.mark.faults


@contextmanager
def _swapped(stage: Stage) -> Iterator[ApiServer]:
    """Another cluster behind the name, with a credential that it accepts."""
    with ApiServer(durable=stage.api.durable) as other:
        stage.forge.call("swap_credential", server=other.url)
        try:
            yield other
        finally:
            stage.forge.call("swap_credential", server=stage.api.url)


def _judge(stage: Stage, run: int, other: ApiServer | None = None) -> History:
    assert other is None or [e for e in other.exchanges if e.is_write] == []
    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    return history


def _release(stage: Stage, pids: list[int]) -> list[int]:
    """Let halted processes go on at the same moment; how each ended."""
    for pid in pids:
        assert wait_until_halted(pid)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return [stage.forge.wait(pid) for pid in pids]


@pytest.mark.core(1)
@pytest.mark.parametrize("point", ["run.claimed", "run.prepared", "run.checked", "run.intended", "run.answered"])
def test_credential_swapped_under_a_worker_leads_no_write_astray(stage, point):
    run = stage.bring()
    pid = stage.forge.fork("work", run_id=run, failpoint=f"{point}:stop")
    assert wait_until_halted(pid)
    with _swapped(stage) as other:
        os.kill(pid, signal.SIGCONT)
        stage.forge.wait(pid)
        stage.forge.call("finish", run_id=run)

    history = _judge(stage, run, other)
    assert history.runs[0].state in ("applied", "failed")


@pytest.mark.core(1)
@pytest.mark.parametrize("point", ["run.claimed", "run.checked", "run.intended", "run.answered", "run.concluded"])
def test_next_worker_writes_nothing_to_another_cluster(stage, point):
    run = stage.bring()
    assert stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point)) == -signal.SIGKILL
    with _swapped(stage) as other:
        stage.forge.call("finish", run_id=run)

    told = _judge(stage, run, other).runs[0]
    assert (told.state, "is now a different cluster" in told.error) == ("failed", True)


@pytest.mark.core(1)
@pytest.mark.parametrize("name", ["alice", "bob"])
@pytest.mark.parametrize("point", ["", "run.intended"])
def test_rights_that_were_taken_away_count_for_the_next_worker(stage, name, point):
    """Taken away while the run waits, nothing is written; while it is on its way, nothing more."""
    run = stage.bring()
    if point:
        stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point))
    before = len([e for e in stage.api.exchanges if e.is_write])
    stage.forge.call("set_active", name=name, is_active=False)
    try:
        stage.forge.call("finish", run_id=run)
    finally:
        stage.forge.call("set_active", name=name, is_active=True)

    told = _judge(stage, run).runs[0]
    assert (told.state, len([e for e in stage.api.exchanges if e.is_write])) == ("failed", before)
    assert name in told.error


@pytest.mark.long
def test_confirmations_at_once_make_one_run(stage):
    stage.seed()
    plan = stage.forge.call("plan", texts=[config_map("changed", x="once", y="1")])
    stage.listen()
    ended = _release(stage, [stage.forge.fork("start", plan_id=plan, is_halted=True) for _ in range(10)])

    assert (ended.count(0), stage.forge.call("count_runs", plan_id=plan)) == (1, (1, 1))
    run = stage.forge.call("find_run", plan_id=plan)
    stage.forge.call("finish", run_id=run)
    assert _judge(stage, run).runs[0].state == "applied"


@pytest.mark.long
def test_run_over_which_every_worker_is_lost_ends_and_says_so(stage):
    """What kills each worker that touches it is given up, so that others flow."""
    run = stage.bring()
    for _ in range(20):
        assert stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint="run.prepared")) == -signal.SIGKILL
        stage.forge.call("let_leases_run_out")
    stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint="run.prepared"))

    told = _judge(stage, run).runs[0]
    assert (told.state, told.error) == (
        "failed",
        "several workers stopped without finishing an object; check their logs",
    )
    assert [e for e in stage.api.exchanges if e.is_write] == []
