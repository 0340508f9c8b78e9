"""Retry of rollouts: an object that was applied and did not roll out is awaited again, and nothing is sent."""

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.workflow import runs
from tests.memory import start, wire_up
from tests.stories import Killed, Team, config_map, let_lease_run_out
from tests.workflow.test_retry import read, retry
from tests.workloads import BEHIND, READY, become, deployment, work_with_clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow(memory, monkeypatch):
    memory.after = lambda request: become(memory, "web", **BEHIND) if "deployments" in request.path else None
    return wire_up(Team(), memory, monkeypatch)


@pytest.fixture
def late(slow):
    run = start(slow, deployment(), config_map(a="1"), waits_for_rollout=True, rollout_seconds=0)
    work_with_clock(run, lambda seconds: None)
    rollouts = sorted(run.results.values_list("outcome", "rollout"))
    assert (run.state, rollouts[-1]) == (RunState.FAILED, ("applied", "timed-out"))
    ApplyRun.objects.filter(pk=run.pk).update(rules={**run.rules, "rollout_seconds": 600})
    ObjectResult.objects.filter(run=run, outcome=Outcome.SKIPPED).update(outcome=Outcome.UNCHANGED)
    return run


def test_rollout_that_was_late_is_awaited_again_without_a_write(slow, memory, late):
    ObjectResult.objects.filter(run=late).update(finished_at=timezone.now() - timedelta(hours=2))
    sent = len(memory.sent)
    run = retry(slow, late)

    work_with_clock(run, lambda seconds: become(memory, "web", **READY))

    assert (run.state, run.error, len(memory.sent)) == (RunState.APPLIED, "", sent)
    assert list(run.results.filter(attempt=2).values_list("outcome", "rollout")) == [("applied", "ready")]


@pytest.mark.long
def test_applied_object_that_changed_since_is_not_awaited(slow, memory, late):
    run = retry(slow, late)
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    container = {"name": "web", "image": "web:2"}
    pods = {"spec": {"containers": [container]}}
    memory.sandbox.handle(Request("PATCH", path, {}, MERGE_PATCH, {"spec": {"template": pods}}))

    work_with_clock(run, lambda seconds: None)

    result = run.results.get(attempt=2)
    assert (run.state, result.outcome, result.rollout) == (RunState.FAILED, Outcome.DIFFERS, RolloutState.LATE)
    assert "it changed after it was applied" in run.error
    assert runs.list_retryable(read(run, slow.bob)) == []


@pytest.mark.long
def test_worker_killed_while_it_awaits_again_leaves_the_deadline_of_the_retry(slow, memory, late):
    run = retry(slow, late)

    def die(seconds):
        raise Killed

    with pytest.raises(Killed):
        work_with_clock(run, die)
    watched = run.results.get(attempt=2).watched_from
    assert watched is not None
    let_lease_run_out(run)

    work_with_clock(run, lambda seconds: become(memory, "web", **READY))

    assert (run.state, run.results.get(attempt=2).watched_from) == (RunState.APPLIED, watched)


@pytest.mark.long
def test_canceled_attempt_is_canceled(slow, memory, late):
    run = retry(slow, late)
    asked = []

    def pause(seconds):
        if not asked:
            asked.append(runs.cancel_run(run, by=slow.bob))

    work_with_clock(run, pause)

    assert (run.state, run.results.get(attempt=2).rollout) == (RunState.CANCELED, RolloutState.GIVEN_UP)
