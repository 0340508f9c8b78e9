"""Administrators see that no worker takes work, and what to do about it."""

from __future__ import annotations

import re
import shutil
from collections import namedtuple
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Heartbeat, OutboxMessage, Plan, WorkerRequest
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.ops import health, recovery
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


@pytest.fixture
def root():
    return User.objects.create_superuser("root")


@pytest.fixture
def team():
    started = Team()
    OutboxMessage.objects.all().delete()
    return started


def list_titles(person) -> list[str]:
    return [str(problem.title) for problem in health.read_health(for_user=person).problems]


def hold(row, **values):
    soon = timezone.now() + timedelta(seconds=60)
    type(row).objects.filter(pk=row.pk).update(lease_until=soon, **values)


def test_quiet_installation_has_no_problem(team, root):
    team.apply(config_map(a="1"))
    OutboxMessage.objects.all().delete()

    found = health.read_health(for_user=root)

    assert (found.problems, [(q.name, q.waiting, q.in_hand) for q in found.queues]) == (
        (),
        [("runs", 0, 0), ("plans", 0, 0), ("short", 0, 0)],
    )


def test_only_administrators_may_know(team):
    with pytest.raises(WorkflowError):
        health.read_health(for_user=team.bob)


def test_plan_that_no_worker_takes_is_a_problem_after_a_minute(team, root):
    plan = team.review({"a.yaml": config_map()}).plans.get()
    OutboxMessage.objects.all().delete()
    assert list_titles(root) == []

    Plan.objects.filter(pk=plan.pk).update(created_at=timezone.now() - LONG_AGO)
    assert list_titles(root) == ["No worker is picking up plans."]

    busy = team.review({"a.yaml": config_map("other")}).plans.get()
    hold(busy, state=PlanState.PLANNING)
    OutboxMessage.objects.all().delete()
    assert list_titles(root) == []


def test_run_that_no_worker_takes_is_a_problem(team, root):
    run = team.start(team.plan(config_map()))
    OutboxMessage.objects.all().delete()
    ApplyRun.objects.filter(pk=run.pk).update(created_at=timezone.now() - LONG_AGO)
    assert list_titles(root) == ["No worker is picking up apply runs."]

    hold(run, state=RunState.APPLYING, epoch=1)
    assert list_titles(root) == []


def test_question_that_no_worker_answers_is_a_problem(root):
    now = timezone.now()
    WorkerRequest.objects.create(
        kind=WorkerRequestKind.COMPARE, key="k", created_at=now - LONG_AGO, expires_at=now + LONG_AGO
    )

    assert list_titles(root) == ["No worker is handling requests from pages."]


def test_message_that_was_never_sent_is_a_problem(root):
    OutboxMessage.objects.create(task="applyviz.execute_run", ids={}, created_at=timezone.now() - LONG_AGO)

    assert list_titles(root) == ["Messages are waiting to be sent."]


def test_recovery_that_does_not_run_is_a_problem_after_a_minute(root):
    recovery.recover()
    assert list_titles(root) == []

    Heartbeat.objects.update(at=timezone.now() - LONG_AGO)
    assert list_titles(root) == ["Scheduled work has stopped."]

    recovery.recover()
    assert list_titles(root) == []


def test_recovery_that_never_ran_is_a_problem_a_minute_after_the_first_account(root):
    assert list_titles(root) == []

    root.date_joined = timezone.now() - LONG_AGO
    assert list_titles(root) == ["Scheduled work has stopped."]


def test_recovery_writes_no_row_each_time(root, django_assert_num_queries):
    now = timezone.now()
    health.note_recovery(now)

    with django_assert_num_queries(1):
        health.note_recovery(now + timedelta(seconds=5))


def test_full_disk_is_a_problem(root, settings, monkeypatch):
    settings.APPLYVIZ_IS_PERSONAL = True
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))

    assert list_titles(root) == ["The disk of the data folder is almost full."]


def test_page_and_bell_say_what_is_wrong_and_what_to_do(team, root, client):
    plan = team.review({"a.yaml": config_map()}).plans.get()
    Plan.objects.filter(pk=plan.pk).update(created_at=timezone.now() - LONG_AGO)
    OutboxMessage.objects.all().delete()
    client.force_login(root)

    page, bell = client.get("/settings/installation/").text, client.get("/notifications/bell/").text

    assert re.search(r"No worker is picking up plans\.</b> \S", page)
    assert "No worker is picking up plans." in bell
    client.force_login(team.bob)
    assert "No worker" not in client.get("/notifications/bell/").text
    assert client.get("/settings/installation/").status_code == 403
