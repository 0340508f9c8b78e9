"""A team installation on PostgreSQL and Redis: it starts, works, finds what was lost, and ends when asked."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from applyviz import sealing_keys
from tests.services.browsing import Browser
from tests.services.servers import run_postgres, run_redis
from tests.services.team import ROOT, Team

pytestmark = pytest.mark.services

PEOPLE = """
from django.contrib.auth.models import User
from applyviz.records.enums import Role
from applyviz.workflow.clusters import registration as clusters
from tests.builders import grant_role
for name, role in (("alice", Role.AUTHOR), ("bob", Role.APPROVER)):
    grant_role(User.objects.create_user(name, password="long enough for " + name), role)
box = clusters.create_sandbox(slug="box", name="Box")
print(box.credential.open_bytes().decode())
"""
REVIEW = """
from django.contrib.auth.models import User
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Cluster
from applyviz.sources.bundle import SourceBundle, BundledFile
from applyviz.workflow.plans import reviews
manifest = b"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: NAME}\\ndata: {a: b}\\n"
review = reviews.create_review(
    by=User.objects.get(username="alice"), title="Small", reason="", ticket="", options=ApplyOptions(),
    cluster=Cluster.objects.get(slug="box"),
    bundle=SourceBundle((BundledFile("a.yaml", manifest, {"from": "upload"}),)),
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
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: default}
stringData: {password: canary}
"""
CAN_OPEN = """
from applyviz.records.models import Cluster
from applyviz.records.sealing import SealError, can_open
try:
    Cluster.objects.get(slug="box").credential.open_bytes()
except SealError as error:
    print(can_open(), error)
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
        started.token = started.python(PEOPLE)
        yield started


def test_web_says_that_it_is_ready(team):
    with urllib.request.urlopen(f"http://127.0.0.1:{team.port}/readyz", timeout=60) as answer:
        assert (answer.status, answer.read()) == (200, b'{"status": "ok"}')


PLANNED = """
from applyviz.workflow.foundation import rare_rows
print(rare_rows._plans_of_pages().filter(number=1, review__number=1).explain())
"""


@pytest.mark.parametrize("service", ["web", "worker"])
def test_query_of_a_page_is_not_compiled(team, service):
    """PostgreSQL estimates rows of empty tables, and would compile this query for longer than it takes."""
    said = team.python(PLANNED, service)

    assert "Index Scan" in said
    assert "JIT" not in said


CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid != pg_backend_pid()"


@pytest.mark.long
def test_burst_of_requests_shares_the_connections_of_the_pool(team):
    alice = sign_in(team, "alice")
    before, most = int(team.query(CONNECTIONS)), 0

    with ThreadPoolExecutor(60) as people:
        answers = [people.submit(alice.get, "/history/") for _ in range(120)]
        while not all(answer.done() for answer in answers):
            most = max(most, int(team.query(CONNECTIONS)))

    assert all("History" in answer.result() for answer in answers)
    assert most - before <= 16


def test_worker_plans_and_applies_what_people_asked_for(team):
    number = team.python(REVIEW.replace("NAME", "first"))
    team.wait_for(PLAN_STATE.format(number), "complete")

    team.python(RUN.format(number))

    team.wait_for(RUN_STATE.format(number), "applied")


def wait_for_page(browser, path, word, *, seconds=60):
    """Until a page shows a word; it is looked at again and again, as a person would."""
    deadline = time.monotonic() + seconds
    while word not in browser.get(path):
        assert time.monotonic() < deadline, f"{path} does not show {word!r}"
        time.sleep(0.2)


def sign_in(team, name):
    browser = Browser(team.port)
    browser.sign_in(name, f"long enough for {name}")
    return browser


def test_web_holds_no_key_that_opens(team):
    web = team.environment_of("web")

    told = team.python(CAN_OPEN, service="web")

    assert told == "False this process holds no key that opens sealed content; only workers do"
    assert [name for name in web if "OPENING" in name or "ENCRYPTION" in name] == []
    environment = Path(f"/proc/{team.pid('web')}/environ").read_bytes()
    assert b"OPENING" not in environment
    assert b"ENCRYPTION" not in environment


def test_main_job_with_a_web_process_that_opens_nothing(team):
    alice, bob = sign_in(team, "alice"), sign_in(team, "bob")
    alice.get("/reviews/new/")
    form = {"cluster": "box", "namespace": "default", "mode": "server", "field_manager": "team", "text": SECRET}
    alice.post("/reviews/new/", title="Login", **form)
    review = alice.find(r"/reviews/(\d+)/")
    team.wait_for(PLAN_STATE.format(review), "complete")

    bob.get(f"/reviews/{review}/plans/1/confirm/")
    bob.post(f"/reviews/{review}/plans/1/confirm/", digest=bob.find(r'name="digest" value="(\w+)"'), then="apply")
    team.wait_for(RUN_STATE.format(review), "applied")
    run = bob.find(r"/runs/(\d+)/")

    seen = [bob.get(path) for path in (f"/runs/{run}/", f"/runs/{run}/objects/0/", "/history/", f"/reviews/{review}/")]
    wait_for_page(bob, "/clusters/box/objects/", "login")
    wait_for_page(bob, "/clusters/box/state/", "Status and permissions")
    wait_for_page(bob, "/clusters/box/managers/team/", "stringData.password")
    alice.post(f"/runs/{run}/undo/")
    wait_for_page(alice, "/reviews/", f"Revert run {run}")
    assert [page for page in (*seen, bob.page, alice.page) if "canary" in page or "Y2FuYXJ5" in page] == []


def test_kubectl_talks_to_a_sandbox_through_web_and_worker(team):
    request = urllib.request.Request(
        f"http://127.0.0.1:{team.port}/sandboxes/box/api/v1/namespaces/default/secrets/login",
        headers={"Authorization": f"Bearer {team.token}"},
    )

    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["data"] == {"password": base64.b64encode(b"canary").decode()}


@pytest.mark.core(1)
@pytest.mark.parametrize("variable", ["APPLYVIZ_OPENING_KEYS_FILE", "APPLYVIZ_DIGEST_KEY_FILE"])
def test_web_refuses_to_start_with_a_key_of_workers(team, variable):
    done = subprocess.run(
        [sys.executable, "-c", "import applyviz.asgi"],
        env={**team.environment_of("web"), variable: team.environment[variable]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 1
    assert "a web process of a team must not hold it" in done.stderr
    assert "applyviz-open-" not in done.stderr


def test_worker_refuses_keys_that_do_not_fit(team):
    other = sealing_keys.sealing_key_of(sealing_keys.make_opening_key())

    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env={**team.environment_of("worker"), "APPLYVIZ_SEALING_KEY_FILE": "", "APPLYVIZ_SEALING_KEY": other},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 1
    assert "none of APPLYVIZ_OPENING_KEYS opens what it seals" in done.stderr


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


def test_web_with_open_streams_ends_in_time(team):  # the last one: web and worker have ended
    team.stop("worker")
    number = team.python(REVIEW.replace("NAME", "streamed"))  # nobody plans it, so that its stream goes on
    alice = sign_in(team, "alice")
    streams = [alice.open_stream(f"/reviews/{number}/plans/1/events/") for _ in range(3)]

    began = time.monotonic()
    ended = team.stop("web")
    seconds = time.monotonic() - began
    for stream in streams:
        stream.close()

    assert ended == -signal.SIGTERM  # as uvicorn ends once its answers are complete
    assert seconds < 20  # about five on an idle machine
