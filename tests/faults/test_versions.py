"""While an installation is upgraded old workers run beside new web processes: what is newer than they stays as it is.

They say why in the log, send nothing and spend nothing; a worker of the new version then finds all as it was left.
"""

from __future__ import annotations

import pytest

from tests.faults.checker import find_violations
from tests.faults.kill_trials import config_map

pytestmark = pytest.mark.faults


@pytest.mark.core(1)
@pytest.mark.parametrize("what", ["rule", "format"])
def test_run_of_a_newer_version_is_left_alone_with_its_reason(stage, what):
    run = stage.bring()
    stage.forge.call("make_newer", run_id=run, what=what)
    said = stage.forge.call("work_and_listen", run_id=run)
    left = (stage.forge.call("list_states", run_ids=[run]), len(stage.api.exchanges))
    stage.forge.call("make_newer", run_id=run, what=what, is_undone=True)
    stage.forge.call("finish", run_id=run)

    history = stage.tell(run)
    assert [str(v) for v in find_violations(history)] == []
    assert left == (["queued"], 0)
    assert ["newer version" in line and "left to a worker of that version" in line for line in said] == [True]
    assert (history.runs[0].state, history.runs[0].epoch) == ("applied", 1)


def test_plan_of_a_newer_version_is_left_alone_with_its_reason(stage):
    stage.seed()
    (plan,) = stage.forge.call("ask_for_plans", bundles=[[config_map("changed", x="newer", y="1")]])
    stage.listen()
    stage.forge.call("make_newer", plan_id=plan, what="format")
    said = stage.forge.call("plan_and_listen", plan_id=plan)
    left = (stage.forge.call("is_planned", plan_id=plan), len(stage.api.exchanges))
    stage.forge.call("make_newer", plan_id=plan, what="format", is_undone=True)
    stage.forge.call("make_plan", plan_id=plan)

    assert left == (False, 0)
    assert ["newer version" in line and "left to a worker of that version" in line for line in said] == [True]
    assert stage.forge.call("is_planned", plan_id=plan) is True
