"""What a run survives of its database: refusals of every kind, a crash, a frozen server; and half a confirmation."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.faults.checker import find_violations
from tests.faults.kill_trials import config_map, wait_until_halted

pytestmark = pytest.mark.faults
# What PostgreSQL says when its disk is full, when it is read-only, and when a transaction must be tried again.
REFUSALS = {"disk full": "53100", "read only": "25006", "deadlock": "40P01", "serialization": "40001"}


def _judge(stage, run):
    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    return history


def _finish(stage, run):
    stage.forge.call("finish", run_id=run)
    history = _judge(stage, run)
    assert history.runs[0].state == "applied", history.runs[0].error
    assert sum(e.is_effective for e in history.exchanges) == 3


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("refusal", "action"),
    [
        *(("disk full", action) for action in ("run.claimed", "object.intent", "object.result", "run.finished")),
        *((refusal, "object.intent") for refusal in REFUSALS if refusal != "disk full"),
    ],
)
def test_nothing_happens_that_cannot_be_written_down(stage, refusal, action):
    """While the audit takes no entry of a kind, nothing is done that it would tell of; afterwards all ends well."""
    run = stage.bring()
    stage.forge.call("refuse_audit", state=REFUSALS[refusal], action=action)
    try:
        stage.forge.wait(stage.forge.fork("work", run_id=run))
        writes = [e for e in stage.api.exchanges if e.is_write]
        assert (writes == []) == (action in ("run.claimed", "object.intent"))
        assert stage.forge.call("list_states", run_ids=[run])[0] in ("queued", "applying")
    finally:
        stage.forge.call("refuse_audit", state="")

    _finish(stage, run)


def test_crashed_database_loses_no_run(stage):
    run = stage.bring()
    pid = stage.forge.fork("work", run_id=run, failpoint="run.answered:stop")
    assert wait_until_halted(pid)
    stage.postgres.crash()
    os.kill(pid, signal.SIGCONT)
    stage.forge.wait(pid)
    stage.postgres.start()
    stage.forge.call("reconnect")

    _finish(stage, run)


def test_database_that_stands_still_for_a_while_loses_nothing(stage):
    run = stage.bring()
    pid = stage.forge.fork("work", run_id=run, failpoint="run.intended:stop")
    assert wait_until_halted(pid)
    with stage.postgres.frozen():
        os.kill(pid, signal.SIGCONT)
        time.sleep(1.5)
    stage.forge.wait(pid)

    _finish(stage, run)


@pytest.mark.core(1)
@pytest.mark.parametrize("point", ["start.spent", "start.made", "message.sending", "message.sent"])
def test_confirmation_that_dies_is_made_or_is_not(stage, point):
    """Whoever confirms may be cut off anywhere: approvals are spent exactly when there is a run."""
    stage.seed()
    plan = stage.forge.call("plan", texts=[config_map("changed", x=point, y="1")])
    stage.listen()
    pid = stage.forge.fork("start", plan_id=plan, failpoint=point)
    assert stage.forge.wait(pid) == -signal.SIGKILL

    is_made = point.startswith("message")
    assert stage.forge.call("count_runs", plan_id=plan) == (int(is_made), int(is_made))
    run = stage.forge.call("find_run", plan_id=plan) if is_made else stage.forge.call("start", plan_id=plan)
    stage.forge.call("finish", run_id=run)
    assert _judge(stage, run).runs[0].state == "applied"


@pytest.mark.core(1)
@pytest.mark.parametrize("point", ["plan.claimed", "plan.stored", "plan.completing", "plan.completed"])
def test_planning_that_dies_is_done_anew_and_once(stage, point):
    stage.seed()
    (plan,) = stage.forge.call("ask_for_plans", bundles=[[config_map("changed", x="4", y="1")]])
    assert stage.forge.wait(stage.forge.fork("make_plan", plan_id=plan, failpoint=point)) == -signal.SIGKILL

    stage.forge.call("make_plan", plan_id=plan)
    run = stage.forge.call("start", plan_id=plan)
    stage.listen()
    stage.forge.call("finish", run_id=run)
    assert _judge(stage, run).runs[0].state == "applied"
