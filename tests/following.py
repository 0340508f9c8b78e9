"""A followed branch for tests: a repository served over HTTPS, a team with a sandbox, and deliveries of a git host."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Role
from applyviz.records.git_enums import ForgeKind
from applyviz.records.models import Approval, Following, Plan, PushDelivery, Review
from applyviz.sources.git.model import GitSource
from applyviz.workflow.approvals import approving
from applyviz.workflow.following import branches, deliveries, fetching, push_webhooks
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.plans.intake import ReviewInput, read_manifests
from tests.builders import acknowledge_all, make_person, open_dangers, set_email
from tests.sources.git_server import GitRepository, GitServer, serving_git
from tests.sources.servers import Authority, make_authority
from tests.stories import Team, config_map

PATH = "/team/shop.git"
ZERO = "0" * 40


def write_body(before: str, after: str, *, login: str, email: str = "", branch: str = "main", **more: object) -> bytes:
    """The body of a push as GitHub writes it."""
    return json.dumps(
        {
            "ref": f"refs/heads/{branch}",
            "before": before or ZERO,
            "after": after,
            "repository": {"full_name": "team/shop"},
            "pusher": {"name": login, "email": email},
            "sender": {"login": login},
            **more,
        }
    ).encode()


def sign(body: bytes, secret: str, *, delivery: str = "", event: str = "push") -> dict[str, str]:
    """The headers of a delivery of GitHub."""
    return {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery or str(uuid.uuid4()),
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
    }


@dataclass
class Stage:
    """A team, a repository and its push webhook; what a host and a worker do is a method."""

    team: Team
    repository: GitRepository
    server: GitServer
    admin: User
    webhook: push_webhooks.MadeSecret = field(init=False)
    client: Client = field(default_factory=Client)

    def __post_init__(self) -> None:
        self.webhook = push_webhooks.add_webhook(self.server.url(PATH), ForgeKind.GITHUB, by=self.admin)

    def commit(self, author: str, **data: str) -> str:
        """Write one commit to the branch."""
        return self.repository.commit(
            {"deploy/app.yaml": config_map(**data).encode()}, author=f"{author.title()} <{author}@example.org>"
        )

    def open(self, *, title: str = "Shop") -> Review:
        """Alice opens a review of the branch; its plan is calculated."""
        given = ReviewInput(git=GitSource(self.server.url(PATH), "main", "deploy"))
        found = read_manifests(given, by=self.team.alice)
        review = reviews.create_review(
            by=self.team.alice,
            title=title,
            reason="",
            ticket="",
            cluster=self.team.cluster,
            options=ApplyOptions(),
            bundle=found.bundle,
        )
        self.calculate(review)
        return review

    def calculate(self, review: Review) -> Plan:
        """Calculate the latest plan."""
        latest = review.plans.order_by("-number").first()
        assert latest is not None
        planner.make_plan(latest.pk)
        latest.refresh_from_db()
        acknowledge_all(latest, self.team.alice)
        return latest

    def deliver(self, body: bytes, headers: dict[str, str], identifier: str = "") -> int:
        """Send a delivery and let a worker read it; return the status of the answer."""
        address = reverse("take-push", args=[identifier or self.webhook.webhook.identifier])
        answer = self.client.post(address, body, content_type="application/json", headers=headers)
        for pk in PushDelivery.objects.filter(state="waiting").values_list("pk", flat=True):
            deliveries.read_delivery(pk)
        return answer.status_code

    def push(self, before: str, after: str, *, login: str, email: str = "", branch: str = "main") -> int:
        """Deliver a genuine push."""
        body = write_body(before, after, login=login, email=email, branch=branch)
        return self.deliver(body, sign(body, self.webhook.secret))

    def follow(self) -> None:
        """Let a worker do what is due, as if the quiet time had passed."""
        Following.objects.filter(due_at__isnull=False).update(due_at=clock.now() - timedelta(seconds=1))
        for pk in fetching.find_due(now=clock.now()):
            fetching.follow_branch(pk)

    def start(self, review: Review) -> Following:
        """Alice switches following on."""
        return branches.start_following(review, by=self.team.alice, seen=review.plans.count())


@pytest.fixture(name="authority", scope="session")
def make_session_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A certificate authority for servers of tests."""
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(name="stage")
def make_stage(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any, authority: Authority) -> Iterator[Stage]:
    """A team, a sandbox, and a repository served over HTTPS whose pushes are told."""
    repository = GitRepository()
    with serving_git({PATH: repository}, authority.context("localhost")) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        settings.APPLYVIZ_LINK_CA_FILE = str(authority.file)
        yield Stage(Team().wire_up(monkeypatch), repository, server, make_person("root", Role.ADMINISTRATOR))


@pytest.fixture(name="people")
def make_people(stage: Stage) -> dict[str, User]:
    """Accounts with addresses: Carol and Dave approve as Bob does, and all of them commit."""
    made = {name: make_person(name, Role.APPROVER) for name in ("carol", "dave")}
    made |= {"alice": stage.team.alice, "bob": stage.team.bob}
    for name, person in made.items():
        set_email(name, f"{name}@example.org")
        person.refresh_from_db()
    return made


def approve(plan: Plan, person: User) -> Approval:
    """A person views what is a high risk, and approves."""
    open_dangers(plan, person)
    return approving.approve_plan(plan, by=person, digest=plan.digest)


def begin(stage: Stage) -> tuple[Review, str]:
    """A review of Alice's commit that follows its branch; returns it with that commit."""
    first = stage.commit("alice", a="1")
    review = stage.open()
    stage.start(review)
    return review, first


def push(stage: Stage, review: Review, before: str, author: str, **data: str) -> tuple[str, Plan]:
    """Somebody commits and pushes; the plan that results is calculated. Returns commit and plan."""
    commit = stage.commit(author, **data)
    assert stage.push(before, commit, login=author, email=f"{author}@example.org") == 202
    stage.follow()
    return commit, stage.calculate(review)


@pytest.fixture(name="begun")
def make_begun(stage: Stage) -> tuple[Stage, Review, str, str]:
    """A review that follows its branch, and the commit of a push that is not told yet."""
    set_email("alice", "alice@example.org")
    review, first = begin(stage)
    return stage, review, first, stage.commit("carol", a="2")
