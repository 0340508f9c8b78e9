"""Choices on one plan of a review do not apply to a later plan that another person made meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import Plan
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner, reviews
from tests.builders import grant_role
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
Post = Callable[[str, dict[str, object]], Any]


@pytest.fixture
def post(team: Team, client: Client) -> Post:
    """Requests of a program that may plan."""
    grant_role(team.alice, Role.AUTHOR)
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.PLAN, days=7)
    headers = {"authorization": f"Bearer {text}"}

    def send(address: str, body: dict[str, object]) -> Any:
        return client.post(f"/api/v1/{address}", json.dumps(body), "application/json", headers=headers)

    return send


def replan(team: Team, first: Plan) -> Plan:
    """The plan that another author made after the first one was read."""
    made = reviews.replan_review(first.review, by=team.alice, seen=first)
    planner.make_plan(made.pk)
    return Plan.objects.get(pk=made.pk)


def test_a_token_changes_no_plan_that_it_did_not_read(team: Team, post: Post) -> None:
    first = team.plan(config_map(a="1"))
    address = f"reviews/{first.review.number}/"
    file = [{"name": "a.yaml", "content": config_map(a="2")}]
    second = replan(team, first)

    answers = [
        post(f"{address}plans/", {"seen": first.number}),
        post(f"{address}plans/", {"seen": first.number, "files": file}),
        post(f"{address}plans/", {"seen": first.number, "propagation": "Orphan"}),
        post(f"{address}follow/", {"seen": first.number, "act": "start"}),
    ]

    assert [one.status_code for one in answers] == [409] * 4
    assert {one.json()["error"]["message"] for one in answers} == {
        "this plan was superseded by a later plan; open that plan"
    }
    assert first.review.plans.count() == second.number
    assert post(f"{address}plans/", {"seen": second.number + 1}).status_code == 404
    assert post(f"{address}plans/", {"seen": second.number}).status_code == 201


@pytest.mark.parametrize("seen", ["1", 0, -1, 1.0, True, [1], 10**30])
def test_a_number_of_no_plan_is_a_problem(team: Team, post: Post, seen: object) -> None:
    first = team.plan(config_map(a="1"))

    answer = post(f"reviews/{first.review.number}/plans/", {"seen": seen})

    assert answer.status_code == 422
    assert "seen must be the number of the plan that you read" in answer.content.decode()


def test_new_manifests_of_an_old_page_replace_no_later_plan(team: Team, client: Client) -> None:
    first = team.plan(config_map(a="1"))
    address = reverse("reviews:replace-manifests", args=[first.review.number])
    client.force_login(team.alice)
    page = client.get(address).content.decode()
    second = replan(team, first)
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}

    answer = client.post(address, {"text": yaml.safe_dump(obj), "seen": str(first.number)})

    assert f'name="seen" value="{first.number}"' in page
    assert answer.status_code == 409
    assert "superseded by a later plan; open that plan" in answer.content.decode()
    assert first.review.plans.count() == second.number
    again = client.post(address, {"text": yaml.safe_dump(obj), "seen": str(second.number)})
    assert again.headers["Location"] == reverse("reviews:show-plan", args=[first.review.number, second.number + 1])
