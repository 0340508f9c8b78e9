"""A conflict in a list entry that a password names is resolved, by its masked name, and nothing shows the password."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner, resolutions, reviews
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import World
from tests.attacks.test_names_of_entries import SPEC
from tests.attacks.test_password_fields import CANARY, define, find_shown, write
from tests.shared_rows import share_rows
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PATH = "/apis/example.com/v1/namespaces/default/backups/nightly"
OTHER = "another-phrase-of-a-user"


def users(role: str) -> dict[str, Any]:
    return {"users": [{"phrase": phrase, "role": role} for phrase in (CANARY, OTHER)]}


def play() -> tuple[Team, Plan]:
    """Another manager set the roles of two users, each known by a password."""
    team = Team()
    assert team.apply(yaml.safe_dump(define(SPEC))).state == "applied"
    assert team.apply(yaml.safe_dump(write(users("a")))).state == "applied"
    body: JSONObject = {**write(users("b")), "spec": users("b")}
    query = {"fieldManager": "others", "force": "true"}
    assert team.send(Request("PATCH", PATH, query, APPLY_PATCH, body)).is_ok
    return team, team.plan(yaml.safe_dump(write(users("c"))))


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Team, Plan]]:
    """The team and its plan, made once."""
    yield from share_rows(django_db_blocker, play)


@pytest.fixture
def story(played: tuple[Team, Plan], db: None) -> tuple[Team, Plan]:
    """The same for one test."""
    return deepcopy(played)


@pytest.fixture
def team(story: tuple[Team, Plan]) -> Team:
    return story[0]


@pytest.fixture
def plan(story: tuple[Team, Plan]) -> Plan:
    return story[1]


def resolve(team: Team, plan: Plan, choices: list[resolutions.Choice]) -> Plan:
    """The next plan."""
    following = reviews.replan_review(plan.review, by=team.alice, choices=choices)
    planner.make_plan(following.pk)
    return Plan.objects.get(pk=following.pk)


@pytest.mark.core(1)
@pytest.mark.parametrize(("kind", "role"), [(ResolutionKind.OVERWRITE, "c"), (ResolutionKind.GIVE_UP, "b")])
def test_conflicts_of_masked_entries_are_resolved_one_by_one(
    team: Team, plan: Plan, kind: ResolutionKind, role: str
) -> None:
    choices = resolutions.choose_everywhere(plan, kind)
    assert len(choices) == 2
    assert CANARY not in str(choices)

    second = resolve(team, plan, choices[:1])
    left = resolutions.choose_everywhere(second, kind)
    assert len(left) == 1
    assert left[0].path not in {one.path for one in choices}  # its tag is of the second plan
    third = resolve(team, second, left)

    assert third.changes.get().operation == (Operation.UPDATE if role == "c" else Operation.UNCHANGED)
    if role == "c":
        run = team.work(team.start(third))
        assert run.state == "applied", run.error
    assert {one["role"] for one in team.live(PATH)["spec"]["users"]} == {role}  # type: ignore[index, call-overload]
    assert find_leaks(CANARY) == []


@pytest.mark.long
def test_no_page_of_the_resolution_shows_the_password(team: Team, plan: Plan) -> None:
    second = resolve(team, plan, resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)[:1])

    assert find_shown(World(team, [plan, second, second])) == []


def test_each_resolution_is_undone_by_its_own_link(team: Team, plan: Plan) -> None:
    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)
    second = resolve(team, plan, choices)
    client = Client()
    client.force_login(team.alice)
    page = client.get(reverse("reviews:show-changes", args=[second.review.number, second.number]) + "?at=0")
    text = page.content.decode()

    for index in (0, 1):
        assert reverse("reviews:undo-resolution", args=[second.review.number, second.number, index]) in text
    assert "alice" in text
    assert CANARY not in text


def test_name_of_another_plan_resolves_nothing(team: Team, plan: Plan) -> None:
    """A tag fits in the plan that shows it alone, and only for the object that it is of."""
    second = resolve(team, plan, resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE))
    stored = json.loads(json.dumps(second.decisions))
    third = reviews.replan_review(plan.review, by=team.alice)
    Plan.objects.filter(pk=third.pk).update(decisions=[{**one, resolutions.MASKED_IN: 2} for one in stored])
    planner.make_plan(third.pk)

    assert Plan.objects.get(pk=third.pk).changes.get().operation == Operation.BLOCKED
