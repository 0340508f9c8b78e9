"""Plans that move ownership by choice: how a policy asks for more approvals, and what a revert brings back."""

from typing import Any

import pytest

from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.requests.options import ApplyMode, Handover, TakenField
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
from applyviz.records.enums import RunState
from applyviz.records.models import Undo
from applyviz.workflow.approvals import quorum
from applyviz.workflow.plans import planner, revert
from applyviz.workflow.policies.rules import RiskDemand
from tests.builders import make_policy
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
KEY = ("", "ConfigMap", "default", "settings")
KEPT = ("f:data", "f:kept")
GIVEN = (Handover(KEY, KEPT, "other"),)
TEXT = config_map(kept="1", own="1")
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}
MOVES: dict[str, dict[str, Any]] = {
    "handed over": {"handovers": GIVEN},
    "taken": {"taken_fields": (TakenField(KEY, ("f:data", "f:new"), "kubectl-edit", is_live=True),)},
    "from managers": {"takes_from": ("helm",)},
    "forgotten": {"handovers": GIVEN, **CLIENT},
}


def owners_of(live, path=KEPT):
    return {(owner.manager, owner.operation) for owner in read_owners(live).of(path)}


def plan_revert(team, run):
    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


@pytest.mark.core(1)
@pytest.mark.parametrize("move", MOVES)
def test_policy_asks_for_more_approvals_when_ownership_moves(team, move):
    make_policy(for_risks=(RiskDemand(OWNERSHIP_MOVED, 2),))
    team.apply(TEXT, **(CLIENT if move == "forgotten" else {}))
    team.edit(SETTINGS, {"data": {"new": "x"}})
    team.edit(SETTINGS, {"data": {"own": "1", "tool": "x"}}, manager="helm")
    how = {name: value for name, value in MOVES[move].items() if name in CLIENT}

    moving, plain = team.plan(TEXT, **MOVES[move]), team.plan(config_map(kept="1", own="2"), **how)

    assert [quorum.count_quorum(plan).needed for plan in (moving, plain)] == [2, 1]
    assert ["ownership-moved", "medium"] in moving.changes.get().risk_levels


def test_revert_of_a_handover_takes_the_field_back(team):
    team.apply(TEXT)
    run = team.apply(TEXT, handovers=GIVEN)
    assert owners_of(team.live()) == {("other", "Apply")}

    done = team.work(team.start(plan_revert(team, run)))

    live = team.live()
    assert (done.state, done.error, live["data"]) == (RunState.APPLIED, "", {"kept": "1", "own": "1"})
    assert owners_of(live) == {("applyviz", "Apply")}
    assert "other" not in {entry["manager"] for entry in live["metadata"]["managedFields"]}


@pytest.mark.long
def test_revert_of_a_client_side_handover_applies_the_field_again(team):
    team.apply(TEXT, **CLIENT)
    run = team.apply(TEXT, handovers=GIVEN, **CLIENT)
    team.edit(SETTINGS, {"data": {"kept": "7"}}, manager="scaler")

    plan = plan_revert(team, run)
    done = team.work(team.start(plan))

    assert (done.state, team.live()["data"]["kept"]) == (RunState.APPLIED, "1")
    assert Undo.objects.get().moved == {"1": ["ConfigMap default/settings: .data.kept"]}  # the review says so before
    annotation = team.live()["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert '"kept":"1"' in annotation


@pytest.mark.long
@pytest.mark.parametrize("move", ["taken", "from managers"])
def test_revert_says_that_moved_fields_stay_where_they_are(team, move):
    team.apply(TEXT)
    team.edit(SETTINGS, {"data": {"new": "x"}})
    team.edit(SETTINGS, {"data": {"own": "2"}}, manager="helm")
    run = team.apply(config_map(kept="1", own="3"), takes_over=True, **MOVES[move])
    assert run.state == "applied", run.error

    plan = plan_revert(team, run)

    manager = "kubectl-edit" if move == "taken" else "helm"
    (note,) = [note for note in Undo.objects.get(review=plan.review).notes if "owned before the run" in note]
    assert note == f"ConfigMap default/settings: fields that {manager} owned before the run stay with applyviz"
    done = team.work(team.start(plan))
    assert (done.state, team.live()["data"]["own"]) == (RunState.APPLIED, "2")
