"""A team whose web process holds no key that opens: a run, a review of two plans that differ, and an administrator."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from applyviz.records.models import ApplyRun, Webhook
from applyviz.records.models import Team as TeamRow
from applyviz.records.sealing import Unsealed
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.plans import planner, reviews
from tests.builders import make_policy
from tests.keyless import go_without_keys
from tests.shared_rows import share_rows
from tests.stories import Team, config_map, secret


@pytest.fixture(name="sandboxes", autouse=True)
def _sandboxes_are_sealed_rows():
    """A web process without keys must not be able to read them."""


def replan(team, plan):
    made = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(made.pk)
    return made


def play() -> tuple[Team, ApplyRun]:
    """A run of review 1; review 2 has two plans that differ, in a Secret too."""
    with pytest.MonkeyPatch.context() as patch:
        team = Team().wire_up(patch)
        run = team.apply(config_map(colour="red"), secret(password="canary-1"))
        first = team.plan(config_map(colour="blue"), secret(password="canary-2"))
        team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {"colour": "green"}})
        team.edit("/api/v1/namespaces/default/secrets/login", {"stringData": {"password": "canary-3", "other": "x"}})
        replan(team, first)
    now, sealed = timezone.now(), Unsealed.of_bytes(b"canary-1")
    Webhook.objects.create(name="chat", url="https://chat.example", secret=sealed, created_at=now, created_by=team.bob)
    make_policy("box")
    TeamRow.objects.create(slug="box", name="Box", created_at=now)
    return team, run


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker) -> Iterator[tuple[Team, ApplyRun]]:
    """The team and its run, made once."""
    yield from share_rows(django_db_blocker, play)


@pytest.fixture
def story(played, db, monkeypatch) -> tuple[Team, ApplyRun]:
    """The same for one test, which may change it."""
    team, run = deepcopy(played)
    return team.wire_up(monkeypatch), run


@pytest.fixture
def team(story) -> Team:
    return story[0]


@pytest.fixture
def run(story) -> ApplyRun:
    """The run of review 1."""
    return story[1]


@pytest.fixture
def root(db):
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    return browser


@pytest.fixture
def web(run, settings, monkeypatch):
    return go_without_keys(settings, monkeypatch)


@pytest.fixture
def slow(web, monkeypatch):
    """A worker that takes longer than a page waits."""
    web.works = False
    monkeypatch.setattr(
        worker_questions, "wait", lambda worker_request, seconds=0: worker_questions.refresh(worker_request)
    )
    return web
