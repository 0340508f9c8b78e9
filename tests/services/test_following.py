"""A team installation follows a branch: a repository served over HTTPS, deliveries over HTTP, workers that fetch."""

from __future__ import annotations

import hashlib
import hmac
import json
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
TAKE = """
from django.contrib.auth.models import User
from tests.builders import take_roles
take_roles(User.objects.get(username="alice"))
"""
GIVE = """
from django.contrib.auth.models import User
from applyviz.records.enums import Role
from tests.builders import grant_role
grant_role(User.objects.get(username="alice"), Role.AUTHOR)
"""
UNKNOWN = """
from applyviz.records.models import Plan
from applyviz.workflow.people import commit_people
plan = Plan.objects.get(review__number={number}, number=2)
print([type(one).__name__ for one in commit_people.find_unknown(plan)])
"""
PATHS = {"gitlab": "/team/lab.git", "gitea": "/team/tea.git"}
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
def others() -> dict[str, GitRepository]:
    return {forge: GitRepository() for forge in PATHS}


@pytest.fixture(scope="module")
def server(repository, others, tmp_path_factory) -> Iterator[tuple[GitServer, Path]]:
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    served = {PATH: repository, **{PATHS[forge]: one for forge, one in others.items()}}
    with serving_git(served, authority.context("localhost")) as found:
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


def write_push(forge: str, before: str, after: str, secret: str) -> tuple[bytes, dict[str, str]]:
    """A push by Carol as GitLab or Gitea writes it, with the headers of its delivery."""
    path = PATHS[forge].strip("/").removesuffix(".git")
    plain = {"ref": "refs/heads/main", "before": before, "after": after}
    if forge == "gitlab":
        who = {"user_username": "carol", "user_name": "Carol", "user_email": "carol@example.org"}
        body = json.dumps({"object_kind": "push", **plain, **who, "project": {"path_with_namespace": path}}).encode()
        return body, {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret, "Idempotency-Key": after}
    person = {"login": "carol", "username": "carol", "email": "carol@example.org"}
    body = json.dumps({**plain, "repository": {"full_name": path}, "pusher": person, "sender": person}).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return body, {"X-Gitea-Event": "push", "X-Gitea-Delivery": after, "X-Gitea-Signature": signature}


@pytest.mark.long
@pytest.mark.parametrize("forge", PATHS)
def test_push_of_each_forge_leads_to_a_plan_as_long_as_its_requester_may(team, server, others, forge):
    git, repository = server[0], others[forge]
    first = write(repository, "alice", "blue")
    dana, alice = (sign_in(team, name) for name in ("dana", "alice"))
    dana.get("/settings/repositories/pushes/new/")
    dana.post("/settings/repositories/pushes/new/", repository=git.url(PATHS[forge]), forge=forge)
    secret = dana.find(r"data-secret>([\w-]+)<")
    address = dana.find(r"(http://127\.0\.0\.1:\d+/push/[\w-]+/)")
    alice.get("/reviews/new/")
    form = {"cluster": "box", "namespace": "default", "mode": "server", "field_manager": "team", "title": forge}
    alice.post("/reviews/new/", git_repository=git.url(PATHS[forge]), git_ref="main", follow="on", **form)
    number = alice.find(r"/reviews/(\d+)/")
    review = f"(SELECT id FROM records_review WHERE number = {number})"
    plans = f"SELECT (COUNT(*))::text FROM records_plan WHERE review_id = {review} AND state = 'complete'"
    team.wait_for(plans, "1")

    second = write(repository, "ghost", "green")
    body, headers = write_push(forge, first, second, "another secret")
    assert deliver(address, body, headers) == 202
    team.wait_for(RESULT, "refused")
    body, headers = write_push(forge, first, second, secret)
    assert deliver(address, body, headers) == 202
    team.wait_for(plans, "2")
    assert "ghost" in sign_in(team, "bob").get(f"/reviews/{number}/plans/2/overview/")
    assert team.python(UNKNOWN.format(number=number)) == "['EditorUnmatched']"

    team.python(TAKE)
    third = write(repository, "carol", "red")
    body, headers = write_push(forge, second, third, secret)
    assert deliver(address, body, headers) == 202
    team.wait_for(f"SELECT end_reason FROM records_following WHERE review_id = {review}", "rights-lost")
    assert team.query(plans) == "2"
    team.python(GIVE)
