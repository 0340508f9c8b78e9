"""Runs whose write removes the last finalizer of an object that is being deleted: it is gone, as the plan says."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import JournalEntry
from applyviz.workflow.plans import planner, revert
from tests.stories import SETTINGS, Team, config_map

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("mode", list(ApplyMode))


@pytest.fixture
def team(monkeypatch):
    return Team().wire_up(monkeypatch)


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


@BOTH
def test_object_with_another_finalizer_is_updated(team, mode):
    begin(team, mode, "example.com/hold", "example.com/wait")

    plan = team.plan(held("example.com/wait"), mode=mode)
    run = team.work(team.start(plan))

    assert plan.counts == {Operation.UPDATE: 1}
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    assert team.live()["metadata"]["finalizers"] == ["example.com/wait"]


@BOTH
def test_value_that_changed_since_the_review_stops_the_run(team, mode):
    begin(team, mode, "example.com/hold")
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.edit(SETTINGS, {"data": {"b": "2"}})

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])


@BOTH
def test_deletion_that_began_after_the_review_stops_the_run(team, mode):
    team.apply(held("example.com/hold"), mode=mode)
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.send(Request("DELETE", SETTINGS))

    run = team.work(started)

    assert (run.state, sent(run)) == (RunState.STALE, [])


@BOTH
def test_object_that_went_since_the_review_is_not_created_again(team, mode):
    begin(team, mode, "example.com/hold")
    started = team.start(team.plan(config_map(a="1"), mode=mode))
    team.edit(SETTINGS, {"metadata": {"finalizers": None}})

    run = team.work(started)

    (result,) = run.results.all()
    assert (run.state, sent(run), team.live()) == (RunState.APPLIED, [], None)
    assert result.detail == "it was gone before the run: nothing was sent"


@BOTH
def test_revert_creates_the_object_again(team, mode):
    begin(team, mode, "example.com/hold")
    run = team.apply(config_map(a="1"), mode=mode)

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)

    assert review.plans.get().counts == {Operation.CREATE: 1}
