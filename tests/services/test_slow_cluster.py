"""A cluster that answers after twelve seconds, with four runs on it, holds up nobody else."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.faults.apiserver import ApiServer
from tests.services.servers import run_postgres, run_redis
from tests.services.team import Team

pytestmark = pytest.mark.services
SLOW_SECONDS = 12.0
WORKERS = ("worker-runs", "worker-plans", "worker-scans", "worker-short")

SET_UP = """
from django.contrib.auth.models import User
from applyviz.records.enums import Role
from tests.builders import grant_role
from tests.faults.scenarios import add_cluster
for name, role in (("alice", Role.AUTHOR), ("bob", Role.APPROVER)):
    grant_role(User.objects.create_user(name, password="long enough for " + name), role)
add_cluster("slow", "{}")
add_cluster("quick", "{}")
"""
REVIEW = """
from django.contrib.auth.models import User
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Cluster
from applyviz.sources.bundle import SourceBundle, BundledFile
from applyviz.workflow.plans import reviews
for name in {names}:
    text = "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {{name: " + name + ", namespace: default}}\\ndata: {{a: b}}\\n"
    review = reviews.create_review(
        by=User.objects.get(username="alice"), title=name, reason="", ticket="", options=ApplyOptions(),
        cluster=Cluster.objects.get(slug="{cluster}"),
        bundle=SourceBundle((BundledFile("a.yaml", text.encode(), {{"from": "upload"}}),)),
    )
"""
RUN = """
from django.contrib.auth.models import User
from applyviz.records.models import Plan
from applyviz.workflow import runs
for plan in Plan.objects.filter(review__title__in={names}):
    runs.approve_and_run(plan, by=User.objects.get(username="bob"), digest=plan.digest)
"""
PLANNED = "SELECT count(*) FROM records_plan WHERE state = 'complete'"
RUNS = """
SELECT count(*) FROM records_applyrun JOIN records_plan ON records_plan.id = records_applyrun.plan_id
JOIN records_cluster ON records_cluster.uid = records_plan.cluster_uid
WHERE records_cluster.slug = '{}' AND records_applyrun.state = '{}'
"""
SECONDS = """
SELECT extract(epoch FROM completed_at - records_plan.created_at) FROM records_plan
JOIN records_review ON records_review.id = records_plan.review_id WHERE title = '{}'
"""


def wait_for(team: Team, sql: str, number: int, *, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while int(team.query(sql)) < number:
        assert time.monotonic() < deadline, [team.log(name) for name in WORKERS]
        time.sleep(0.1)


@pytest.fixture
def team(tmp_path) -> Iterator[Team]:
    with run_postgres() as database, run_redis() as broker:
        started = Team(tmp_path, database=database, broker=broker, has_web=False)
        with started:
            started.stop("worker")
            for name in WORKERS:
                started.start(name)
            yield started


def plan_quickly(team: Team, name: str) -> float:
    """Plan one object on the quick cluster; how many seconds passed from its creation until it was complete."""
    before = int(team.query(PLANNED))
    team.python(REVIEW.format(names=[name], cluster="quick"))
    wait_for(team, PLANNED, before + 1)
    return float(team.query(SECONDS.format(name)))


@pytest.mark.long
def test_four_runs_on_a_slow_cluster_hold_up_no_other_cluster(team):
    with ApiServer() as slow, ApiServer() as quick:
        team.python(SET_UP.format(slow.url, quick.url))
        names = [f"slow-{n}" for n in range(4)]
        team.python(REVIEW.format(names=names, cluster="slow"))
        wait_for(team, PLANNED, 4)
        plan_quickly(team, "first")  # which starts what later plans find started
        usual = [plan_quickly(team, f"before-{n}") for n in range(3)]

        slow.delay = SLOW_SECONDS
        team.python(RUN.format(names=names))
        wait_for(team, RUNS.format("slow", "applying"), 3)
        meanwhile = [plan_quickly(team, f"meanwhile-{n}") for n in range(3)]
        team.python(RUN.format(names=["meanwhile-0"]))
        wait_for(team, RUNS.format("quick", "applied"), 1, seconds=60)

        assert int(team.query(RUNS.format("slow", "applied"))) == 0
        slow.delay = 0.0
        wait_for(team, RUNS.format("slow", "applied"), 4)
    assert min(meanwhile) <= 2 * max(usual)
