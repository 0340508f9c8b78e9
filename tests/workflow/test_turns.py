"""Plans and runs of one cluster take turns: a slow cluster leaves workers to the others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz import queue
from applyviz.queue import TaskName
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, OutboxMessage, Plan
from applyviz.workflow import runs
from applyviz.workflow.clusters import registration
from applyviz.workflow.plans import planner
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(settings):
    settings.APPLYVIZ_CLUSTER_CONCURRENCY = 1
    return Team()


def hold(row):
    """Let another worker work on it."""
    state = PlanState.PLANNING if isinstance(row, Plan) else RunState.APPLYING
    type(row).objects.filter(pk=row.pk).update(state=state, epoch=1, lease_until=timezone.now() + timedelta(seconds=60))


def state_of(row):
    row.refresh_from_db()
    return row.state


def test_plan_waits_while_its_cluster_is_busy_and_is_woken(team, monkeypatch):
    first, second = (team.review({"a.yaml": config_map(name)}).plans.get() for name in ("one", "two"))
    hold(first)

    planner.make_plan(second.pk)
    assert state_of(second) == PlanState.PLANNING

    sent = []
    monkeypatch.setattr(queue, "send", lambda name, **ids: sent.append((name, ids)))
    Plan.objects.filter(pk=first.pk).update(lease_until=None)
    planner.make_plan(first.pk)
    assert (state_of(first), sent) == (PlanState.COMPLETE, [(TaskName.MAKE_PLAN, {"plan_id": second.pk})])

    planner.make_plan(second.pk)
    assert state_of(second) == PlanState.COMPLETE


def test_plan_of_another_cluster_does_not_wait(team):
    hold(team.review({"a.yaml": config_map("one")}).plans.get())
    team.cluster = registration.create_sandbox(slug="other", name="Other")

    assert team.plan(config_map("two")).state == PlanState.COMPLETE


def test_lost_worker_holds_up_its_cluster_for_one_lease_at_most(team):
    first, second = (team.review({"a.yaml": config_map(name)}).plans.get() for name in ("one", "two"))
    hold(first)
    Plan.objects.filter(pk=first.pk).update(lease_until=timezone.now() - timedelta(seconds=1))

    planner.make_plan(second.pk)

    assert state_of(second) == PlanState.COMPLETE


def test_run_waits_while_its_cluster_is_busy_and_is_woken(team):
    first, second = (team.start(team.plan(config_map(name))) for name in ("one", "two"))
    hold(first)

    assert team.work(second).state == RunState.QUEUED
    assert not runs.has_turn(second, now=timezone.now())

    ApplyRun.objects.filter(pk=first.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    OutboxMessage.objects.all().delete()
    assert team.work(first).state == RunState.APPLIED
    assert list(OutboxMessage.objects.values_list("task", "ids")) == [
        (TaskName.EXECUTE_RUN.value, {"run_id": second.pk})
    ]
    assert team.work(second).state == RunState.APPLIED


@pytest.mark.long
def test_run_that_was_canceled_waits_for_no_turn(team):
    first, second = (team.start(team.plan(config_map(name))) for name in ("one", "two"))
    hold(first)
    runs.cancel_run(second, by=team.bob)

    assert team.work(second).state == RunState.CANCELED


@pytest.mark.long
def test_page_of_a_run_says_what_it_waits_for(team, client):
    first, second = (team.start(team.plan(config_map(name))) for name in ("one", "two"))
    hold(first)
    client.force_login(team.bob)

    assert (
        "Waiting: the workers are busy with other runs on this cluster." in client.get(f"/runs/{second.number}/").text
    )
