"""Messages: asked for after the commit, kept until sent, harmless when they come twice."""

from datetime import timedelta

import celery
import pytest
from django.db import transaction
from django.utils import timezone

from applyviz import queue
from applyviz.queue import TaskName
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, OutboxMessage, Plan
from applyviz.tasks import execute_run, make_plan, recover_unfinished
from applyviz.workflow.foundation import outbox
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db


class Broker:
    """Takes messages in place of the broker, or does not."""

    def __init__(self, monkeypatch):
        self.sent, self.is_away = [], False
        for name in TaskName:
            monkeypatch.setattr(celery.current_app.tasks[name.value], "apply_async", self._take(name))

    def _take(self, name):
        def take(kwargs, retry):
            if self.is_away:
                raise ConnectionError
            self.sent.append((name.value, kwargs))

        return take


@pytest.fixture
def broker(monkeypatch):
    return Broker(monkeypatch)


def test_task_is_asked_for_after_the_commit(broker, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        queue.enqueue(TaskName.MAKE_PLAN, plan_id=7)
        assert broker.sent == []

    assert broker.sent == [("applyviz.make_plan", {"plan_id": 7})]


def test_rolled_back_work_asks_for_nothing(broker, django_capture_on_commit_callbacks):
    def fail():
        with transaction.atomic():
            outbox.post(TaskName.MAKE_PLAN, plan_id=7)
            raise RuntimeError

    with django_capture_on_commit_callbacks(execute=True), pytest.raises(RuntimeError):
        fail()

    assert (broker.sent, OutboxMessage.objects.count()) == ([], 0)


def test_message_that_the_broker_does_not_take_is_sent_later(broker, django_capture_on_commit_callbacks):
    broker.is_away = True
    with django_capture_on_commit_callbacks(execute=True):
        outbox.post(TaskName.MAKE_PLAN, plan_id=7)
    assert OutboxMessage.objects.get().sent_at is None
    broker.is_away = False

    now = timezone.now()
    assert outbox.resend(now=now) == 0
    assert outbox.resend(now=now + timedelta(seconds=10)) == 1
    assert outbox.resend(now=now + timedelta(seconds=20)) == 0

    assert broker.sent == [("applyviz.make_plan", {"plan_id": 7})]


def test_messages_that_were_sent_are_forgotten_after_a_day(broker, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        outbox.post(TaskName.MAKE_PLAN, plan_id=7)

    outbox.resend(now=timezone.now() + timedelta(days=2))

    assert not OutboxMessage.objects.exists()


def test_tasks_carry_the_whole_job(broker, django_capture_on_commit_callbacks):
    team = Team()
    with django_capture_on_commit_callbacks(execute=True):
        review = team.review({"a.yaml": config_map(a="1")})
    plan = review.plans.get()
    assert broker.sent == [("applyviz.make_plan", {"plan_id": plan.pk})]

    for _ in range(3):
        make_plan(plan.pk)
    plan.refresh_from_db()
    assert plan.state == PlanState.COMPLETE
    with django_capture_on_commit_callbacks(execute=True):
        run = team.start(plan)
    assert broker.sent[1:] == [("applyviz.execute_run", {"run_id": run.pk})]
    for _ in range(3):
        execute_run(run.pk)

    run.refresh_from_db()
    assert run.state == RunState.APPLIED
    assert run.results.get().journal.count() == 1


def test_sweep_asks_for_everything_that_nobody_works_on(broker):
    team = Team()
    lost_plan = team.review({"a.yaml": config_map(a="1")}).plans.get()
    run = team.start(team.plan(config_map("other", a="1")))
    broker.sent.clear()
    long_ago = timezone.now() - timedelta(minutes=5)
    Plan.objects.filter(pk=lost_plan.pk).update(created_at=long_ago)
    ApplyRun.objects.filter(pk=run.pk).update(created_at=long_ago)
    OutboxMessage.objects.all().delete()

    recover_unfinished()

    assert sorted(broker.sent) == [
        ("applyviz.execute_run", {"run_id": run.pk}),
        ("applyviz.make_plan", {"plan_id": lost_plan.pk}),
    ]
