"""Runs that hand a field over: its value stays at every point at which a worker is lost, and the next one finishes."""

import pytest

from applyviz.engine.requests.options import Handover
from applyviz.records.enums import RunState
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from tests.stories import SETTINGS, Killed, Team, config_map, let_lease_run_out

pytestmark = pytest.mark.django_db
KEY = ("", "ConfigMap", "default", "settings")
GIVEN = (Handover(KEY, ("f:data", "f:kept"), "other"),)
POINTS = ("run.intended", "run.answered", "run.recorded", "run.concluding", "run.concluded")
TEXT = config_map(kept="1", own="3")


def die():
    raise Killed


@pytest.fixture
def team(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(kept="1", own="2"))
    yield team
    failpoints.hooks.clear()


def kill_at(point, time):
    reached = []

    def hook(name):
        if name == point:
            reached.append(name)
            if len(reached) == time:
                die()

    failpoints.hooks.append(hook)


@pytest.mark.core(1)
@pytest.mark.parametrize("time", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_value_stays_wherever_the_worker_is_lost(team, point, time):
    run = team.start(team.plan(TEXT, handovers=GIVEN))
    kill_at(point, time)
    try:
        runs.execute_run(run.pk, sleep=lambda seconds: None)
    except Killed:
        assert team.live()["data"]["kept"] == "1"
        failpoints.hooks.clear()
        let_lease_run_out(run)
        team.work(run)

    run.refresh_from_db()
    live = team.live()
    assert (run.state, run.error, live["data"]) == (RunState.APPLIED, "", {"kept": "1", "own": "3"})
    owners = {e["manager"]: e["fieldsV1"]["f:data"] for e in live["metadata"]["managedFields"]}
    assert owners == {"other": {"f:kept": {}}, "applyviz": {"f:own": {}}}


@pytest.mark.long
def test_field_that_others_changed_meanwhile_stops_the_run(team):
    run = team.start(team.plan(TEXT, handovers=GIVEN))
    team.edit(SETTINGS, {"data": {"kept": "by hand"}})

    team.work(run)

    assert (run.state, team.live()["data"]["kept"]) == (RunState.STALE, "by hand")


@pytest.mark.long
def test_later_plans_of_the_review_keep_the_choice_and_a_next_review_has_nothing_to_do(team):
    team.apply(TEXT, handovers=GIVEN)

    again = team.plan(TEXT, handovers=GIVEN)
    dropped = team.plan(config_map(own="3"))

    assert [plan.changes.get().operation for plan in (again, dropped)] == ["unchanged", "unchanged"]
