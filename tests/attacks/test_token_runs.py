"""A high risk asks a person for their password; a token confirms nothing, and starts it only if a policy says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.records.enums import Role, ScheduledStartState, TokenScope
from applyviz.records.models import ApplyRun, Plan, ScheduledStart
from applyviz.web.urls import api_urls
from applyviz.workflow.approvals import approving
from applyviz.workflow.people import tokens
from applyviz.workflow.policies import Rules
from tests.builders import acknowledge_all, grant_role, make_policy, open_dangers
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
"""
Post = Callable[[str, dict[str, object]], Any]


@pytest.fixture
def post(team: Team, client: Client) -> Post:
    """Requests of a pipeline that may apply everywhere."""
    grant_role(team.alice, Role.OPERATOR)
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.APPLY, days=7)
    headers = {"authorization": f"Bearer {text}"}

    def send(address: str, body: dict[str, object]) -> Any:
        return client.post(f"/api/v1/{address}", json.dumps(body), "application/json", headers=headers)

    return send


def approved(team: Team, text: str) -> Plan:
    plan = team.plan(text)
    acknowledge_all(plan, team.bob)
    open_dangers(plan, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    return plan


def test_token_starts_no_plan_with_a_high_risk(team: Team, post: Post) -> None:
    plan = approved(team, ROLE)
    address = f"reviews/{plan.review.number}/plans/{plan.number}"

    answers = [
        post(f"{address}/run/", {"digest": plan.digest}),
        post(
            f"{address}/schedule/",
            {"digest": plan.digest, "not_after": (timezone.now() + timedelta(hours=1)).isoformat()},
        ),
    ]

    assert [answer.status_code for answer in answers] == [409, 409]
    assert all("a person must start it in the browser" in answer.content.decode() for answer in answers)
    assert (ApplyRun.objects.count(), ScheduledStart.objects.count()) == (0, 0)


def test_policy_may_allow_it(team: Team, post: Post) -> None:
    make_policy("pipelines", allows_tokens=True)
    assert Rules().allows_tokens is False
    plan = approved(team, ROLE)

    answer = post(f"reviews/{plan.review.number}/plans/{plan.number}/run/", {"digest": plan.digest})

    assert answer.status_code == 201, answer.content


def test_token_starts_a_plan_without_a_high_risk(team: Team, post: Post) -> None:
    plan = approved(team, config_map(a="1"))

    answer = post(f"reviews/{plan.review.number}/plans/{plan.number}/run/", {"digest": plan.digest})

    assert answer.status_code == 201, answer.content


def test_token_that_may_only_read_changes_nothing(team: Team, post: Post, client: Client) -> None:
    """A scope counts for every address that takes a POST, also where the page needs no more than the right to view."""
    plan = team.plan(config_map(a="1"))
    address = f"reviews/{plan.review.number}"
    last = (timezone.now() + timedelta(hours=1)).isoformat()
    assert post(f"{address}/plans/1/schedule/", {"digest": plan.digest, "not_after": last}).status_code == 201
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="reader", scope=TokenScope.READ, days=7)
    taking = [name for name, view in list_views() if "POST" in view.methods and name not in ("compare-plan",)]
    given = {"number": plan.review.number, "plan": 1, "slug": "box"}

    answers = {}
    for name in taking:
        place = reverse(f"api:{name}", kwargs={key: given[key] for key in list_parameters(name)})
        answer = client.post(place, "{}", "application/json", headers={"authorization": f"Bearer {text}"})
        answers[name] = answer.status_code

    assert len(answers) > 9
    assert set(answers.values()) == {403}, answers
    assert ScheduledStart.objects.get().state == ScheduledStartState.WAITING


def list_views() -> list[tuple[str, Any]]:
    return [(one.name or "", one.callback) for one in api_urls if hasattr(one.callback, "methods")]


def list_parameters(name: str) -> list[str]:
    return next(list(one.pattern.converters) for one in api_urls if one.name == name)
