"""Runs whose write removes the last finalizer of an object that is being deleted: it is gone, as the plan says."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.request_sequence import StepPurpose, list_sequence
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions, Replacement, SetAction
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import JournalEntry
from applyviz.workflow.live.ownership_history import owners_of
from applyviz.workflow.plans import changes, planner, revert
from tests.stories import SETTINGS, Team, config_map

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("mode", list(ApplyMode))


def held(*finalizers: str) -> str:
    metadata = {"name": "settings", "finalizers": list(finalizers)}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})


def begin(team: Team, mode: ApplyMode, *finalizers: str) -> None:
    """Apply an object with finalizers, and begin its deletion."""
    team.apply(held(*finalizers), mode=mode)
    team.send(Request("DELETE", SETTINGS))


def sent(run) -> list[str]:
    return list(JournalEntry.objects.filter(result__run=run).order_by("sequence").values_list("method", flat=True))


@BOTH
def test_object_is_gone_after_the_write_that_ends_its_deletion(team, mode):
    begin(team, mode, "example.com/hold")

    plan = team.plan(config_map(a="2"), mode=mode)
    run = team.work(team.start(plan))

    (result,) = run.results.all()
    assert plan.counts == {Operation.DELETE: 1}
    assert (run.state, result.outcome, result.detail) == (RunState.APPLIED, Outcome.DELETED, "it is gone")
    assert sent(run) == ["PATCH"]
    assert team.live() is None


@pytest.mark.core(1)
@BOTH
def test_object_with_another_finalizer_is_updated(team, mode):
    begin(team, mode, "example.com/hold", "example.com/wait")

    plan = team.plan(held("example.com/wait"), mode=mode)
    run = team.work(team.start(plan))

    assert plan.counts == {Operation.UPDATE: 1}
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    assert team.live()["metadata"]["finalizers"] == ["example.com/wait"]


@pytest.mark.core(1)
@BOTH
def test_value_that_changed_since_the_review_stops_the_run(team, mode):
    begin(team, mode, "example.com/hold")
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.edit(SETTINGS, {"data": {"b": "2"}})

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])


@pytest.mark.core(1)
@BOTH
def test_deletion_that_began_after_the_review_stops_the_run(team, mode):
    team.apply(held("example.com/hold"), mode=mode)
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.send(Request("DELETE", SETTINGS))

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])


@pytest.mark.core(1)
@BOTH
def test_object_that_went_since_the_review_is_not_created_again(team, mode):
    begin(team, mode, "example.com/hold")
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.edit(SETTINGS, {"metadata": {"finalizers": None}})

    run = team.work(started)

    (result,) = run.results.all()
    assert (run.state, sent(run), team.live()) == (RunState.APPLIED, [], None)
    assert result.detail == "it was gone before the run: nothing was sent"


@pytest.mark.core(1)
@BOTH
def test_revert_creates_the_object_again(team, mode):
    begin(team, mode, "example.com/hold")
    run = team.apply(config_map(a="1"), mode=mode)

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)

    assert review.plans.get().counts == {Operation.CREATE: 1}


RELEASE = "kind: Patch\ntarget: {apiVersion: v1, kind: ConfigMap, name: settings}\ntype: merge\npatch: PATCH\n"


def release(team: Team) -> None:
    """A controller removes the last finalizer, so that the object is gone."""
    team.edit(SETTINGS, {"metadata": {"finalizers": None}}, manager="some-controller")


@pytest.mark.core(1)
@pytest.mark.parametrize("goes", [True, False])
def test_patch_that_releases_an_object_is_done_when_the_object_is_gone(team, goes):
    begin(team, ApplyMode.SERVER, "example.com/hold")
    patch = RELEASE.replace("PATCH", "{metadata: {finalizers: null}}")
    started = team.start(team.plan(patch, action=SetAction.PATCH))
    if goes:
        release(team)

    run = team.work(started)

    (result,) = run.results.all()
    assert (run.state, sent(run), team.live()) == (RunState.APPLIED, [] if goes else ["PATCH"], None)
    assert result.detail == ("it was gone before the run: nothing was sent" if goes else "it is gone")


def begin_both(team: Team) -> None:
    """Begin the deletion of an object that kubectl applied client-side: a server-side apply moves its fields first."""
    team.apply(held("example.com/hold"), field_manager=CLIENT_SIDE_MANAGER, mode=ApplyMode.CLIENT)
    team.send(Request("DELETE", SETTINGS))


def test_nothing_is_planned_after_the_write_that_ends_a_deletion(team):
    server = {"mode": ApplyMode.SERVER, "field_manager": SERVER_SIDE_MANAGER}
    team.apply(held("example.com/hold"), **server)
    record = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"a":"1"}}'}
    team.edit(SETTINGS, {"metadata": {"annotations": record}}, manager="some-tool")  # an apply keeps it in step
    team.send(Request("DELETE", SETTINGS))

    plan = team.plan(config_map(a="1"), **server)

    change = changes.read_masked(plan.changes.get())
    assert (change.operation, change.conflicts) == (Operation.DELETE, ())
    assert change.requests[-1].query["fieldManager"] == "kubectl"
    assert team.work(team.start(plan)).state == RunState.APPLIED


def test_object_that_went_during_its_first_request_is_gone(team):
    begin_both(team)
    started = team.start(team.plan(config_map(a="1"), mode=ApplyMode.SERVER, field_manager=SERVER_SIDE_MANAGER))

    first = len(team.wire.writes) + 1

    def lose(_request: Request, number: int) -> str:
        if number == first:
            release(team)
        return "lose request" if number == first else ""

    team.wire.fault = lose
    run = team.work(started)

    (result,) = run.results.all()
    assert (run.state, result.outcome, result.detail) == (RunState.APPLIED, Outcome.DELETED, "it is gone")


@pytest.mark.core(1)
@BOTH
def test_history_has_no_owner_after_the_end(team, mode):
    begin(team, mode, "example.com/hold")
    team.apply(config_map(a="2"), mode=mode)

    found = owners_of("box", ("", "ConfigMap", "default", "settings"), for_user=team.alice)

    assert found.moments[0].is_there is False
    assert all(period.until is not None for period in found.periods)


def test_requests_of_the_end_are_those_of_a_run_and_the_object_is_one_of_the_manifests(team):
    begin(team, ApplyMode.CLIENT, "example.com/hold")
    change = changes.read_masked(team.plan(config_map(a="2"), mode=ApplyMode.CLIENT).changes.get())

    chosen = ApplyOptions(ApplyMode.CLIENT, replacement=Replacement(objects=("core/ConfigMap/default/settings",)))

    purposes = [step.purpose for step in list_sequence(change) if not step.is_schema]
    assert purposes == [StepPurpose.READ, StepPurpose.WRITE, StepPurpose.WAIT]
    assert summarize([change], chosen).unmatched == ()
