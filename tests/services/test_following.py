"""A team installation follows a branch: a repository served over HTTPS, deliveries over HTTP, workers that fetch."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.following import PATH, sign, write_body
from tests.services.browsing import Browser
from tests.services.servers import run_postgres, run_redis
from tests.services.team import Team
from tests.services.test_team import wait_for_page
from tests.sources.git_server import GitRepository, GitServer, serving_git
from tests.sources.servers import make_authority

pytestmark = pytest.mark.services

PEOPLE = """
from django.contrib.auth.models import User
from applyviz.records.enums import Role
from applyviz.workflow.clusters import registration as clusters
from tests.builders import grant_role
roles = {"alice": Role.AUTHOR, "bob": Role.APPROVER, "carol": Role.APPROVER, "dana": Role.ADMINISTRATOR}
for name, role in roles.items():
    person = User.objects.create_user(name, email=name + "@example.org", password="long enough for " + name)
    grant_role(person, role)
clusters.create_sandbox(slug="box", name="Box")
"""
PLANS = "SELECT COUNT(*) FROM records_plan WHERE state = 'complete'"
RESULT = "SELECT state FROM records_pushdelivery ORDER BY id DESC LIMIT 1"
EDITORS = """
from applyviz.records.models import Plan
from applyviz.workflow.approvals import quorum
plan = Plan.objects.order_by("-number").first()
print(sorted(person.username for person in quorum._list_involved(plan)))
"""


class FollowingTeam(Team):
    """A team that trusts the authority of the test's git server."""

    def __init__(self, folder: Path, *, database: str, broker: str, server: GitServer, authority: Path) -> None:
        super().__init__(folder, database=database, broker=broker)
        self._authority = str(authority)
        self.environment["APPLYVIZ_LINK_HOSTS"] = server.origin

    def environment_of(self, service: str) -> dict[str, str]:
        """The same, with the authority."""
        return {**super().environment_of(service), "APPLYVIZ_LINK_CA_FILE": self._authority}


@pytest.fixture(scope="module")
def repository() -> GitRepository:
    return GitRepository()


@pytest.fixture(scope="module")
def server(repository, tmp_path_factory) -> Iterator[tuple[GitServer, Path]]:
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    with serving_git({PATH: repository}, authority.context("localhost")) as found:
        yield found, authority.file


@pytest.fixture(scope="module")
def team(server, tmp_path_factory) -> Iterator[Team]:
    git, authority = server
    folder = tmp_path_factory.mktemp("team")
    with (
        run_postgres() as database,
        run_redis() as broker,
        FollowingTeam(folder, database=database, broker=broker, server=git, authority=authority) as started,
    ):
        started.python(PEOPLE)
        yield started


def sign_in(team: Team, name: str) -> Browser:
    browser = Browser(team.port)
    browser.sign_in(name, f"long enough for {name}")
    return browser


def write(repository: GitRepository, author: str, value: str) -> str:
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: flags}}\ndata: {{color: {value}}}\n"
    return repository.commit({"deploy/app.yaml": manifest.encode()}, author=f"{author} <{author}@example.org>")


def deliver(address: str, body: bytes, headers: dict[str, str]) -> int:
    request = urllib.request.Request(address, body, {**headers, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.long
def test_pushes_of_a_served_repository_lead_to_plans(team, server, repository):
    git, first = server[0], write(repository, "alice", "blue")
    dana, alice, carol = (sign_in(team, name) for name in ("dana", "alice", "carol"))
    dana.get("/settings/repositories/pushes/new/")
    dana.post("/settings/repositories/pushes/new/", repository=git.url(PATH), forge="github")
    secret = dana.find(r"data-secret>([\w-]+)<")
    address = dana.find(r"(http://127\.0\.0\.1:\d+/push/[\w-]+/)")
    alice.get("/reviews/new/")
    form = {"cluster": "box", "namespace": "default", "mode": "server", "field_manager": "team", "title": "Flags"}
    alice.post("/reviews/new/", git_repository=git.url(PATH), git_ref="main", git_path="deploy", follow="on", **form)
    assert alice.find(r"/reviews/(\d+)/") == "1"
    team.wait_for(f"SELECT ({PLANS})::text", "1")

    second = write(repository, "carol", "green")
    body = write_body(first, second, login="carol", email="carol@example.org")
    assert deliver(address, body, sign(body, "another secret")) == 202
    team.wait_for(RESULT, "refused")
    headers = sign(body, secret)
    assert deliver(address, body, headers) == 202
    team.wait_for(f"SELECT ({PLANS})::text", "2")
    assert deliver(address, body, headers) == 202
    team.wait_for(RESULT, "repeated")
    assert deliver(address.replace("/push/", "/push/x"), body, headers) == 202
    assert deliver(address, b"x" * (2 * 1024 * 1024 + 1), headers) == 413

    wait_for_page(alice, "/reviews/1/follow/", second[:10])
    assert "requested a plan" in alice.get("/reviews/1/plans/2/activity/")
    assert "you wrote, committed or pushed commits" in carol.get("/reviews/1/plans/2/overview/")
    assert team.python(EDITORS) == "['alice', 'carol']"
    bob = sign_in(team, "bob")
    page = bob.get("/reviews/1/plans/2/overview/")
    assert "Approve plan 2" in page
    assert "you wrote, committed or pushed commits" not in page
    deliveries = dana.get("/settings/repositories/pushes/1/")
    for word in ("Accepted", "Refused", "Repeated", second[:10]):
        assert word in deliveries
