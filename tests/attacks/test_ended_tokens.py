"""A token that ends while its request is answered changes nothing, whatever the request asks for.

Every address of the API that takes a POST is tried: a new one fails here until it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.enums import AuditAction, Role, TokenScope
from applyviz.records.models import ApiToken, ApplyRun, Plan
from applyviz.web.api import following, guard, reviewers, views
from applyviz.web.urls import api_urls
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import trail
from applyviz.workflow.following import branches
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner, reviews
from tests.builders import grant_role, make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MAPS = "/api/v1/namespaces/default/configmaps"
FILE = {"name": "a.yaml", "content": config_map(a="2")}
Given = dict[str, Any]


def prepare_approved(team: Team) -> Given:
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    return {"plan": plan, "digest": plan.digest}


def prepare_scheduled(team: Team) -> Given:
    given = prepare_approved(team)
    last = clock.now() + timedelta(hours=1)
    runs.schedule_start(given["plan"], by=team.alice, digest=given["digest"], not_before=None, expires_at=last)
    return {"plan": given["plan"]}


def prepare_run(team: Team) -> Given:
    run = team.start(team.plan(config_map(a="1")))
    return {"plan": run.plan, "run": run}


def prepare_live(team: Team) -> Given:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "live"}, "data": {"a": "live"}}
    team.send(Request("POST", MAPS, {"fieldManager": "kubectl-create"}, JSON, body))
    return {"title": "Ours", "objects": ["core/ConfigMap/default/live"]}


def prepare_reviewer(team: Team) -> Given:
    make_person("carol", Role.APPROVER)
    return {"plan": team.plan(config_map(a="1")), "reviewers": ["carol"]}


PREPARED: dict[str, Callable[[Team], Given]] = {
    "adopt-objects": prepare_live,
    "add-review": lambda team: {"title": "New", "cluster": "box", "namespace": "default", "files": [FILE]},
    "add-plan": lambda team: {"plan": team.plan(config_map(a="1")), "files": [FILE]},
    "compare-plan": lambda team: {"plan": team.plan(config_map(a="1"))},
    "start-run": prepare_approved,
    "schedule-start": lambda team: {
        **prepare_approved(team),
        "not_after": (clock.now() + timedelta(hours=1)).isoformat(),
    },
    "cancel-start": prepare_scheduled,
    "follow-branch": lambda team: {"plan": team.plan(config_map(a="1")), "act": "start"},
    "request-reviewers": prepare_reviewer,
    "cancel-run": prepare_run,
    "retry-run": lambda team: {**prepare_run(team), "attempt": 1},
}


def count_rows() -> dict[str, int]:
    own = ("ApiToken", "WorkerRequest")  # of the request itself
    found = {model.__name__: model._default_manager.count() for model in apps.get_app_config("records").get_models()}
    return {name: count for name, count in found.items() if name not in own}


def read_states() -> list[object]:
    return [*Plan.objects.order_by("pk").values_list("state"), *ApplyRun.objects.values_list("cancel_requested_at")]


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team in which Alice may do everything that a token can; fakes replace the git host and faults."""
    team = Team().wire_up(monkeypatch)
    grant_role(team.alice, Role.OPERATOR)

    def follow(review: Any, *, by: Any, seen: int) -> None:
        trail.record(AuditAction.FOLLOWING_STARTED, by=by, about=trail.AuditSubject(review=review.number))

    def retry(run: ApplyRun, *, by: Any, **_chosen: object) -> ApplyRun:
        trail.record(AuditAction.RUN_RETRIED, by=by, about=trail.AuditSubject.of_run(run))
        return run

    monkeypatch.setattr(branches, "start_following", follow)
    monkeypatch.setattr(runs, "retry_run", retry)
    return team


def send(team: Team, name: str, given: Given, text: str) -> Any:
    plan, run = given.pop("plan", None), given.pop("run", None)
    parameters = next(list(one.pattern.converters) for one in api_urls if one.name == name)
    numbered = run if name.endswith("-run") and run is not None else getattr(plan, "review", None)
    known = {"slug": "box", "number": getattr(numbered, "number", 0), "plan": getattr(plan, "number", 0)}
    address = reverse(f"api:{name}", kwargs={key: known[key] for key in parameters})
    return Client().post(address, json.dumps(given), "application/json", headers={"authorization": f"Bearer {text}"})


def test_every_route_that_takes_a_post_is_tried() -> None:
    taking = {one.name for one in api_urls if "POST" in getattr(one.callback, "methods", ())}

    assert taking == PREPARED.keys()


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("name", PREPARED)
def test_no_route_acts_with_a_token_that_ends_meanwhile(
    team: Team, monkeypatch: pytest.MonkeyPatch, name: str, ends: bool
) -> None:
    given = PREPARED[name](team)
    token, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.APPLY, days=7)

    def read_late(request: Any) -> Any:
        if ends:
            ApiToken.objects.filter(pk=token.pk).update(revoked_at=clock.host_now(), revoked_by=team.alice)
        return guard.read_body(request)

    for module in (views, following, reviewers):
        monkeypatch.setattr(module, "read_body", read_late)
    before = count_rows(), read_states()

    answer = send(team, name, given, text)

    assert answer.status_code in ((401,) if ends else (200, 201)), answer.content
    assert ((count_rows(), read_states()) == before) is ends


def test_plan_that_came_in_between_is_not_replaced(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next plan takes the options of the plan that was read: choices on the other plan would be lost."""
    plan = team.plan(config_map(a="1"))
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.PLAN, days=7)
    replan = reviews.replan_review

    def come_second(review: Any, **given: Any) -> Plan:
        monkeypatch.setattr(reviews, "replan_review", replan)
        planner.make_plan(replan(review, by=team.alice).pk)
        return replan(review, **given)

    monkeypatch.setattr(reviews, "replan_review", come_second)

    answer = send(team, "add-plan", {"plan": plan}, text)

    assert answer.status_code == 409
    assert "superseded by a later plan" in answer.json()["error"]["message"]
