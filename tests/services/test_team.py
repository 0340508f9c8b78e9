"""A team installation on PostgreSQL and Redis: it starts, works, finds what was lost, and ends when asked."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

from tests.services.servers import run_postgres, run_redis
from tests.services.team import Team

pytestmark = pytest.mark.services

PEOPLE = """
from django.contrib.auth.models import User
from applyviz.records.enums import Role
from applyviz.workflow import clusters
from tests.builders import grant_role
for name, role in (("alice", Role.AUTHOR), ("bob", Role.APPROVER)):
    grant_role(User.objects.create_user(name), role)
clusters.create_sandbox(slug="box", name="Box")
"""
REVIEW = """
from django.contrib.auth.models import User
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Cluster
from applyviz.sources.bundle import SourceBundle, SourceFile
from applyviz.workflow import reviews
manifest = b"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: NAME}\\ndata: {a: b}\\n"
review = reviews.create_review(
    by=User.objects.get(username="alice"), title="Small", reason="", ticket="", options=ApplyOptions(),
    cluster=Cluster.objects.get(slug="box"), bundle=SourceBundle((SourceFile("a.yaml", manifest, {"from": "upload"}),)),
)
print(review.number)
"""
PLAN_STATE = """
SELECT records_plan.state FROM records_plan JOIN records_review ON records_review.id = records_plan.review_id
WHERE records_review.number = {}
"""
RUN = """
from django.contrib.auth.models import User
from applyviz.records.models import Plan
from applyviz.workflow import runs
plan = Plan.objects.get(review__number={})
runs.approve_and_run(plan, by=User.objects.get(username="bob"), digest=plan.digest)
"""
RUN_STATE = """
SELECT records_applyrun.state FROM records_applyrun JOIN records_plan ON records_plan.id = records_applyrun.plan_id
JOIN records_review ON records_review.id = records_plan.review_id WHERE records_review.number = {}
"""
REFUSED = """
from django.db import DatabaseError
from django.db import connection
changes = ("UPDATE records_auditentry SET actor_name = 'nobody'", "DELETE FROM records_auditentry")
for change in changes:
    try:
        connection.cursor().execute(change)
    except DatabaseError as error:
        print(str(error).splitlines()[0])
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory) -> Iterator[Team]:
    with (
        run_postgres() as database,
        run_redis() as broker,
        Team(tmp_path_factory.mktemp("team"), database=database, broker=broker) as started,
    ):
        started.python(PEOPLE)
        yield started


def test_web_says_that_it_is_ready(team):
    with urllib.request.urlopen(f"http://127.0.0.1:{team.port}/readyz", timeout=60) as answer:
        assert (answer.status, answer.read()) == (200, b'{"status": "ok"}')


def test_worker_plans_and_applies_what_people_asked_for(team):
    number = team.python(REVIEW.replace("NAME", "first"))
    team.wait_for(PLAN_STATE.format(number), "complete")

    team.python(RUN.format(number))

    team.wait_for(RUN_STATE.format(number), "succeeded")


def test_clock_finds_work_whose_message_was_lost(team):
    number = team.python(REVIEW.replace("NAME", "lost"), REDIS_URL="redis://127.0.0.1:1/0")

    team.wait_for(PLAN_STATE.format(number), "complete")


def test_postgresql_refuses_to_rewrite_history(team):
    assert team.python(REFUSED).splitlines() == ["audit entries are never changed", "audit entries are never deleted"]


def test_worker_ends_when_asked_and_the_next_one_goes_on(team):
    assert team.stop("worker") == 0
    number = team.python(REVIEW.replace("NAME", "waiting"))

    team.start("worker")

    team.wait_for(PLAN_STATE.format(number), "complete")
