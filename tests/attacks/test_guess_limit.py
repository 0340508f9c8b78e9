"""The limit to guessing counts a value once however it is written, and every way to write another one.

Threat N2: one guess per plan. Twenty values a day answer no search, so no way of writing may be uncounted.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
import yaml

from applyviz.records.enums import PlanState, Role, TokenScope
from applyviz.records.models import Plan, PlannedSecretValue
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import guess_limit, planner
from tests.builders import grant_role
from tests.stories import Team, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MOST = 2


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guess_limit, "MOST_A_DAY", MOST)


def as_object(value: str) -> dict[str, object]:
    return yaml.safe_load(secret(password=value))


def as_data(value: str) -> str:
    obj = as_object(value)
    del obj["stringData"]
    return yaml.safe_dump({**obj, "data": {"password": base64.b64encode(value.encode()).decode()}})


def in_list(value: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [as_object(value)]})


def in_list_of_lists(value: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(in_list(value))]})


def in_secret_list(value: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "SecretList", "items": [as_object(value)]})


def annotated(text: str, kind: str = "ConfigMap") -> str:
    metadata = {"name": "settings", "annotations": {"example.com/held": text}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": kind, "metadata": metadata})


def in_json(value: str) -> str:
    return annotated(json.dumps(as_object(value)))


def in_yaml(value: str) -> str:
    return annotated(secret(password=value))


def beside_a_secret(value: str) -> str:
    return annotated(json.dumps(as_object(value)), "Secret")


def beside_null(value: str) -> str:
    """The attack that found a PIN after 61 plans: client-side apply drops the null, and sends `data`."""
    return yaml.safe_dump({**yaml.safe_load(as_data(value)), "stringData": {"password": None}})


def misspelled(value: str) -> str:
    obj = as_object(value)
    return yaml.safe_dump({**obj, "stringdata": obj.pop("stringData")})


def deployment(**container: object) -> str:
    containers = [{"name": "web", "image": "web:1", **container}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})


def in_env(value: str) -> str:
    return deployment(env=[{"name": "DB_PASSWORD", "value": value}])


def in_args(value: str) -> str:
    return deployment(args=[f"--port=80 --password={value}"])


def in_patch(value: str) -> str:
    target = {"apiVersion": "v1", "kind": "Secret", "name": "login"}
    return yaml.safe_dump({"kind": "Patch", "target": target, "patch": {"stringData": {"password": value}}})


WRITINGS = [secret, as_data, in_list, in_secret_list, in_json, in_yaml, beside_a_secret, beside_null, misspelled]
WRITINGS += [in_env, in_args, in_patch]


def write(writing: Callable[..., str], value: str) -> str:
    return writing(password=value) if writing is secret else writing(value)


@pytest.mark.core(1)
@pytest.mark.parametrize("writing", WRITINGS, ids=lambda one: one.__name__)
def test_each_writing_of_another_value_is_counted(team: Team, writing: Callable[..., str]) -> None:
    made = [team.plan(write(writing, f"guess-number-{number}")) for number in range(MOST + 1)]

    assert [plan.state for plan in made[:MOST]] == [PlanState.COMPLETE] * MOST
    assert made[MOST].state == PlanState.FAILED
    assert f"{MOST} values" in made[MOST].error


def test_one_value_counts_once_however_a_secret_is_written(team: Team) -> None:
    for writing in (secret, as_data, in_list, in_secret_list):
        assert team.plan(write(writing, "the-same-value")).state == PlanState.COMPLETE

    assert PlannedSecretValue.objects.count() == 1


def test_a_list_within_a_list_is_compared_with_nothing(team: Team) -> None:
    plan = team.plan(in_list_of_lists("guess-number-1"))

    assert not plan.changes.filter(kind="Secret").exists()


def test_what_is_kept_holds_no_value(team: Team) -> None:
    team.plan(in_json("q7Rz0xWv-canary"), secret(password="q7Rz0xWv-canary"))

    kept = json.dumps(list(PlannedSecretValue.objects.values()), default=str)

    assert "q7Rz0xWv" not in kept
    assert base64.b64encode(b"q7Rz0xWv-canary").decode()[:12] not in kept


def test_what_is_not_masked_is_not_counted(team: Team) -> None:
    """The same password beside other images and other arguments is one value."""
    for number in range(MOST + 2):
        env = [{"name": "DB_PASSWORD", "value": "the-same-one"}]
        text = deployment(image=f"web:{number}", env=env, args=[f"--port={number} --password=the-same-one"])
        assert team.plan(text).state == PlanState.COMPLETE

    assert PlannedSecretValue.objects.count() == 1


def test_plain_annotations_are_not_counted(team: Team) -> None:
    for number in range(MOST + 2):
        assert team.plan(annotated(f"build {number}")).state == PlanState.COMPLETE

    assert not PlannedSecretValue.objects.exists()


def test_guesses_of_a_program_count_for_its_person(team: Team, client) -> None:
    grant_role(team.alice, Role.OPERATOR)
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.PLAN, days=7)
    for number in range(MOST):
        assert team.plan(secret(password=f"guess-number-{number}")).state == PlanState.COMPLETE
    files = [{"name": "0.yaml", "content": secret(password="one-more")}]
    body = {"title": "Guess", "cluster": "box", "namespace": "default", "files": files}
    answer = client.post(
        "/api/v1/reviews/", json.dumps(body), "application/json", headers={"authorization": f"Bearer {text}"}
    )
    assert answer.status_code == 201, answer.content
    plan = Plan.objects.order_by("-pk")[0]
    if plan.state == PlanState.PLANNING:
        planner.make_plan(plan.pk)
        plan.refresh_from_db()

    assert plan.state == PlanState.FAILED
    assert f"{MOST} values" in plan.error
