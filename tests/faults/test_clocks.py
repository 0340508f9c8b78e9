"""Hosts whose clocks differ: nobody robs anybody of a run, nobody waits a day for a lost one, nothing expires early.

Whatever expires is measured by the clock of the database, which all of them share.
"""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.checker import find_violations
from tests.faults.kill_trials import wait_until_halted

pytestmark = pytest.mark.faults
LEASE = 18


def _judge(stage, run):
    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    return history.runs[0]


@pytest.mark.core(1)
@pytest.mark.parametrize("hours", [-24, 24])
def test_worker_with_another_clock_takes_no_run_that_somebody_has(stage, hours):
    run = stage.bring()
    pid = stage.forge.fork("work", run_id=run, failpoint="run.checked:stop")
    assert wait_until_halted(pid)
    stage.forge.wait(stage.forge.fork("work", run_id=run, hours=hours))
    found = stage.forge.call("find_waiting", hours=hours)
    os.kill(pid, signal.SIGCONT)
    stage.forge.wait(pid)

    told = _judge(stage, run)
    assert (run in found, told.state, told.epoch) == (False, "applied", 1)


@pytest.mark.core(1)
@pytest.mark.parametrize("hours", [-24, 24])
@pytest.mark.parametrize("point", ["run.claimed", "run.intended", "run.concluded"])
def test_run_of_a_lost_worker_with_another_clock_waits_for_one_lease(stage, hours, point):
    run = stage.bring()
    stage.forge.wait(stage.forge.fork("work", run_id=run, failpoint=point, hours=hours))
    left = stage.forge.call("read_lease", run_id=run)
    stage.forge.call("finish", run_id=run)

    assert 0 < left <= LEASE
    assert _judge(stage, run).state == "applied"


@pytest.mark.long
@pytest.mark.parametrize("hours", [-24, 24])
def test_message_of_a_web_process_with_another_clock_is_sent_again(stage, hours):
    """It dies before it hands its message to the broker; the sweep of another host finds the run all the same."""
    stage.seed()
    plan = stage.forge.call("plan", texts=["{apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {x: '1'}}"])
    pid = stage.forge.fork("start", plan_id=plan, failpoint="message.sending", hours=hours)
    assert stage.forge.wait(pid) == -signal.SIGKILL

    run = stage.forge.call("find_run", plan_id=plan)
    assert stage.forge.call("find_waiting_in", run_id=run, seconds=10) is True
    stage.forge.call("finish", run_id=run)
