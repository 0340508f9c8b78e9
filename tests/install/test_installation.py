"""A team installation made with requirements.txt alone: it starts, and carries a whole review out.

Development requirements bring packages that the product needs and does not declare; here nothing but requirements.txt
is installed, and the processes are those of `docker-compose.yml`.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.install.image import ROOT, build_image
from tests.install.installation import WORKER_PROCESSES, WORKERS, Installation
from tests.services.browsing import Browser

pytestmark = pytest.mark.install

PEOPLE = """
from django.contrib.auth.models import User
from django.utils import timezone
from applyviz.records.models import Grant
from applyviz.workflow.clusters import registration as clusters
from applyviz.workflow.foundation import row_macs
for name, role in (("alice", "author"), ("bob", "approver")):
    person = User.objects.create_user(name, password="long enough for " + name)
    grant = Grant(role=role, person=person, since=timezone.now(), cluster_pattern="*", namespace_pattern="*")
    row_macs.vouch(grant, None)
    grant.save()
clusters.create_sandbox(slug="box", name="Box")
"""
COMPLAINT = re.compile(r"(?:.*\n)?.*(?:Traceback|ERROR|CRITICAL).*(?:\n.*){0,30}")
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {color: blue}
"""
PLAN_STATE = """
SELECT p.state FROM records_plan p JOIN records_review r ON r.id = p.review_id WHERE r.number = %s ORDER BY p.id DESC
"""
RUN_STATE = """
SELECT a.state FROM records_applyrun a JOIN records_plan p ON p.id = a.plan_id
JOIN records_review r ON r.id = p.review_id WHERE r.number = %s ORDER BY a.id DESC
"""


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    image = build_image(tmp_path_factory.mktemp("image"))
    with Installation(tmp_path_factory.mktemp("installation"), image, webs=2) as started:
        started.run("worker-short", "python", "manage.py", "shell", "--command", PEOPLE)
        yield started


def wait_for(installation: Installation, sql: str, number: str, expected: str, seconds: float = 120) -> None:
    """Until the one value of a query is the expected one, asked as the role of the processes."""
    deadline = time.monotonic() + seconds
    url = (installation.folder / "secrets-of-web" / "database_url").read_text().strip()
    with psycopg.connect(url, autocommit=True) as connection:
        while (seen := connection.execute(sql, [number]).fetchone()) != (expected,):
            logs = "\n".join(installation.log(name)[-2000:] for name in WORKER_PROCESSES)
            assert time.monotonic() < deadline, f"expected {expected!r}, saw {seen!r}: {logs}"
            time.sleep(0.2)


def wait_for_page(browser: Browser, path: str, word: str, seconds: float = 60) -> None:
    """Until a page shows a word; it is loaded again and again, as a person would."""
    deadline = time.monotonic() + seconds
    while word not in browser.get(path):
        assert time.monotonic() < deadline, f"{path} does not show {word!r}"
        time.sleep(0.3)


def open_review(installation: Installation, author: Browser, text: str) -> str:
    """Open a review and wait for its plan; the number of the review."""
    author.get("/reviews/new/")
    form = {"cluster": "box", "namespace": "default", "mode": "server", "field_manager": "team", "text": text}
    author.post("/reviews/new/", title="Settings", **form)
    review = author.find(r"/reviews/(\d+)/")
    wait_for(installation, PLAN_STATE, review, "complete")
    return review


def approve(approver: Browser, review: str, *, then: str) -> str:
    """Approve plan 1 of a review, and `then` apply it or wait; its digest."""
    page = f"/reviews/{review}/plans/1/confirm/"
    approver.get(page)
    digest = approver.find(r'name="digest" value="(\w+)"')
    approver.post(page, digest=digest, then=then)
    return digest


def test_nothing_but_the_requirements_is_installed(installation):
    locked = (installation.image.app / "requirements.txt").read_text()
    wanted = set(re.findall(r"(?m)^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==", locked))
    listed = installation.run(
        "web", "python", "-c", "import importlib.metadata as m; [print(d.name) for d in m.distributions()]"
    )

    def normalize(names):
        return {re.sub(r"[-_.]+", "-", name).lower() for name in names}

    assert normalize(listed.split()) <= normalize(wanted)
    assert "pytest" not in listed


def test_every_process_runs_and_is_healthy(installation):
    assert installation.list_running() == ["beat-1", "redis-1", "renderer-1", "web-1", "web-2", *WORKER_PROCESSES]
    checks = [("web", port) for port in installation.ports]
    checks += [(service, 0) for service in (*WORKERS, "beat", "redis")]
    deadline = time.monotonic() + 60
    while sick := [check for check in checks if not installation.is_healthy(*check)]:
        assert time.monotonic() < deadline, sick
        time.sleep(0.5)


def test_a_whole_review_from_sign_in_to_history(installation):
    alice, bob = (Browser(port) for port in installation.ports)
    alice.sign_in("alice", "long enough for alice")
    bob.sign_in("bob", "long enough for bob")

    review = open_review(installation, alice, MANIFEST)
    approve(bob, review, then="apply")
    wait_for(installation, RUN_STATE, review, "applied")
    run = bob.find(r"/runs/(\d+)/")

    assert "settings" in bob.get(f"/runs/{run}/")
    wait_for_page(bob, "/clusters/box/objects/", "settings")
    history = bob.get("/history/")
    assert "alice" in history
    assert f"/runs/{run}/" in history


def list_steps(title: str) -> list[list[str]]:
    """The lines of each block of commands in a section of the documentation."""
    text = (ROOT / "docs" / "configuration.md").read_text().partition(f"\n### {title}\n")[2]
    blocks = re.findall(r"^```\n(.*?)^```$", re.split(r"(?m)^##", text)[0], re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in blocks]


@pytest.mark.long
def test_keys_are_changed_by_the_documented_steps(installation):
    alice, bob = (Browser(port) for port in installation.ports)
    alice.sign_in("alice", "long enough for alice")
    bob.sign_in("bob", "long enough for bob")
    review = open_review(installation, alice, MANIFEST.replace("settings", "rotated"))
    digest = approve(bob, review, then="wait")
    keys = [installation.read_secret(name) for name in ("approval_key", "secret_key")]

    change, signing, end = list_steps("Change the approval key")
    for step in change:
        installation.follow(step)
    assert installation.read_secret("approval_key_fallbacks") == keys[0]
    with pytest.raises(AssertionError, match="it was not made by this installation"):
        installation.follow(signing[-1])  # without the earlier key
    for step in [*signing, *end]:
        installation.follow(step)

    bob.get(f"/reviews/{review}/")
    bob.post(f"/reviews/{review}/plans/1/apply/", digest=digest)
    wait_for(installation, RUN_STATE, review, "applied")  # by the approval that was given under the earlier key

    change, end = list_steps("Change the session key")
    for step in change:
        installation.follow(step)

    assert [installation.read_secret(f"{name}_fallbacks") for name in ("approval_key", "secret_key")] == ["", keys[1]]
    assert [installation.read_secret(name) for name in ("approval_key", "secret_key")] != keys
    for browser in (alice, bob):
        browser.get("/reviews/")
        assert browser.address == "/reviews/"
    carol = Browser(installation.ports[0])
    carol.sign_in("alice", "long enough for alice")
    for step in end:
        installation.follow(step)
    carol.get("/reviews/")
    assert carol.address == "/reviews/"  # her session was signed with the key that is left


def test_processes_cannot_change_what_the_database_holds_of_itself(installation):
    url = (installation.folder / "secrets-of-worker-runs" / "database_url").read_text().strip()
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("applyviz_app",)
        for sql in (
            "ALTER TABLE records_auditentry DISABLE TRIGGER ALL",
            "TRUNCATE records_auditentry CASCADE",
            "DROP TABLE records_approval",
            "CREATE TABLE mine (id int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql)


def test_database_and_broker_want_their_passwords(installation):
    address = installation._addresses
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgres://applyviz_app:wrong@{address['postgres:5432']}/applyviz")
    port = address["redis:6379"].rpartition(":")[2]
    said = subprocess.run(["redis-cli", "-p", port, "keys", "*"], capture_output=True, text=True)
    assert "NOAUTH" in said.stdout + said.stderr


def test_secrets_go_to_the_services_that_need_them(installation):
    held = {service: set(row.get("secrets", ())) for service, row in installation.services.items()}
    holders = {secret: {s for s, names in held.items() if secret in names} for secret in set().union(*held.values())}

    assert holders["opening_keys"] == set(WORKERS)
    assert holders["approval_key_fallbacks"] == holders["approval_key"] == {"web", *WORKERS}
    assert holders["secret_key_fallbacks"] == {"web"}
    assert holders["owner_database_url"] == {"migrate"}
    assert holders["postgres_password"] == {"postgres"}
    assert holders["redis_conf"] == {"redis"}


def test_each_service_is_limited_and_only_pages_are_published(installation):
    for name, service in installation.services.items():
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys(), name
        assert service.get("networks") or service["network_mode"] == "none", name
        assert "no-new-privileges:true" in service["security_opt"], name
    # With an arena for each thread, a worker grows with each plan (`benchmarks.memory`).
    assert {installation.environment_of(name)["MALLOC_ARENA_MAX"] for name in ("web", *WORKERS)} == {"1"}
    published = {name: service["ports"] for name, service in installation.services.items() if "ports" in service}
    assert list(published) == ["web"]
    assert installation._localize(published["web"][0], "web").startswith("127.0.0.1:")


KUSTOMIZATION = "resources: [map.yaml]\nnamePrefix: shop-\n"


def test_kustomization_is_rendered_by_the_service_without_network(installation):
    browser = Browser(installation.ports[0])
    browser.sign_in("alice", "long enough for alice")
    browser.get("/reviews/new/")
    fields = {
        "title": "Render", "cluster": "box", "namespace": "default", "mode": "server", "field_manager": "applyviz",
        "kustomization": ".", "paths": '["kustomization.yaml", "map.yaml"]',
    }  # fmt: skip
    page = browser.send("/reviews/new/", {"kustomization.yaml": KUSTOMIZATION, "map.yaml": MANIFEST}, **fields)
    number = browser.find(r"/reviews/(\d+)/")

    wait_for(installation, PLAN_STATE, number, "complete")
    assert "shop-settings" in browser.get(f"/reviews/{number}/"), page
    assert installation.run("renderer", *installation.command_of("renderer")[5:], "--check") == "namespaces"
    assert "helm" not in installation.run("web", "python", "-c", "import shutil; print(shutil.which('helm'))")


def test_renderer_has_neither_network_nor_secrets(installation):
    service = installation.services["renderer"]

    assert service["network_mode"] == "none"
    assert "secrets" not in service
    assert "environment" not in service
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_everything_ends_when_asked_and_no_process_complained(installation):
    names = installation.list_running()

    ended = installation.stop_all()

    assert {name: found for name in names if (found := COMPLAINT.findall(installation.log(name)))} == {}
    # uvicorn ends by the very signal, once its requests are answered.
    usual = {name: -signal.SIGTERM if name.startswith("web") else 0 for name in names}
    assert ended == usual
