"""Runs that set last-applied or clear managedFields: what comes out, what policies ask, and what a revert restores."""

import json

import pytest

from applyviz.engine.requests.options import ApplyMode, ClearPatch, SetAction
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import planner, revert
from applyviz.workflow.policies.rules import RiskDemand
from tests.builders import make_policy
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}
SET = {"action": SetAction.SET_LAST_APPLIED}
CLEAR = {"action": SetAction.CLEAR_OWNERSHIP}


def read_annotation(team):
    return json.loads(team.live()["metadata"]["annotations"][ANNOTATION])


def test_last_applied_is_set_so_that_the_next_apply_keeps_a_field_and_a_revert_brings_it_back(team):
    team.apply(config_map(a="1", b="1"), **CLIENT)

    run = team.apply(config_map(a="1"), **SET)

    assert (run.state, team.outcomes(run)) == ("applied", ["applied"])
    assert (team.live()["data"], read_annotation(team)["data"]) == ({"a": "1", "b": "1"}, {"a": "1"})
    team.apply(config_map(a="2"), **CLIENT)
    assert team.live()["data"] == {"a": "2", "b": "1"}

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    undone = team.work(team.start(review.plans.get()))
    assert (undone.state, team.live()["data"]) == ("applied", {"a": "2", "b": "1"})
    assert read_annotation(team)["data"] == {"a": "1", "b": "1"}


@pytest.mark.long
def test_annotation_that_was_not_there_cannot_be_restored(team):
    team.apply(config_map(a="1"))
    run = team.apply(config_map(a="1"), **SET)

    with pytest.raises(NotPossibleError, match="had no last-applied annotation that could be restored"):
        revert.prepare_revert(run, by=team.alice)


@pytest.mark.core(1)
@pytest.mark.parametrize("how", ClearPatch)
def test_managed_fields_are_cleared_and_no_revert_restores_them(team, how):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2"}})

    run = team.apply(config_map(a="1"), clear_patch=how, **CLEAR)

    live = team.live()
    assert (run.state, team.outcomes(run), live["data"]) == ("applied", ["applied"], {"a": "2"})
    assert "managedFields" not in live["metadata"]
    with pytest.raises(NotPossibleError, match="cleared managedFields cannot be restored"):
        revert.prepare_revert(run, by=team.alice)
    later = team.apply(config_map(a="3"), takes_over=True)
    owners = {entry["manager"] for entry in team.live()["metadata"]["managedFields"]}
    assert (later.state, owners) == ("applied", {"applyviz", "before-first-apply"})


@pytest.mark.long
@pytest.mark.parametrize("options", [SET, CLEAR])
def test_policy_asks_for_more_approvals_of_records(team, options):
    make_policy(for_risks=(RiskDemand(OWNERSHIP_MOVED, 2),))
    team.apply(config_map(a="1"))

    plan = team.plan(config_map(a="1"), **options)

    assert quorum.count_quorum(plan).needed == 2


@pytest.mark.long
def test_change_of_the_object_meanwhile_stops_a_run_that_clears(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="1"), **CLEAR))
    team.edit(SETTINGS, {"data": {"b": "2"}}, manager="helm")

    team.work(run)

    assert run.state == "stale"
    assert {entry["manager"] for entry in team.live()["metadata"]["managedFields"]} == {"applyviz", "helm"}


@pytest.mark.long
def test_absent_object_is_an_error_of_its_row_and_others_go_on(team):
    team.apply(config_map(a="1"))

    plan = team.plan(config_map(a="2"), config_map("absent", a="1"), **SET)

    found = {row.name: row.operation for row in plan.changes.all()}
    assert found == {"settings": "update", "absent": "error"}
