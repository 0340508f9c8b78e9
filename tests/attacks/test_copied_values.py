"""A JSON patch repeats, renames or tests a masked live value: its result stays masked, and a test is a guess.

The value is a credential in a plain field; of Secrets, such operations are refused where the patch is read.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from applyviz.engine.diff.masking import DEFAULT_POLICY, Beside, make_masker, mask
from applyviz.engine.merge.json_patch import apply_json_patch
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.objects.operation_masking import mask_operations
from applyviz.engine.requests.options import SetAction
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.workflow.plans import guess_limit
from tests.attacks.answers import STEPS
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import World
from tests.attacks.test_password_fields import find_shown
from tests.pace import measure
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "q7Rz0xWv-canary"
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
POD = "/spec/template/spec/containers/0"
VALUE = f"{POD}/env/1/value"
NOTE = {"op": "add", "path": "/metadata/annotations", "value": {}}


def copy(path: str, start: str = VALUE, op: str = "copy") -> dict[str, Any]:
    return {"op": op, "from": start, "path": path}


PATCHES: dict[str, list[dict[str, Any]]] = {
    "copied into an annotation": [NOTE, copy("/metadata/annotations/note")],
    "copied into a label": [copy("/metadata/labels/note")],
    "copied into another variable": [copy(f"{POD}/env/0/value")],
    "copied twice": [NOTE, copy("/metadata/annotations/a"), copy("/metadata/labels/b", "/metadata/annotations/a")],
    "copied as an argument": [copy(f"{POD}/args/-")],
    "copied into another container": [copy("/spec/template/spec/containers/1/env/0/value")],
    "moved": [NOTE, copy("/metadata/annotations/note", op="move"), {"op": "add", "path": VALUE, "value": "new-value"}],
    "the variable is renamed": [{"op": "replace", "path": f"{POD}/env/1/name", "value": "PLAIN"}],
    "the flag is replaced": [{"op": "replace", "path": f"{POD}/args/0", "value": "--level"}],
    "an argument is copied": [NOTE, copy("/metadata/annotations/note", f"{POD}/args/1")],
    "the list is copied": [copy(f"{POD}/command", f"{POD}/args")],
    "written by its position": [{"op": "replace", "path": VALUE, "value": CANARY}],
    "written behind its flag": [{"op": "replace", "path": f"{POD}/args/1", "value": CANARY}],
    "tested": [
        {"op": "test", "path": VALUE, "value": CANARY},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
    ],
}


def write() -> dict[str, Any]:
    env = [{"name": "MODE", "value": "fast"}, {"name": "DB_PASSWORD", "value": CANARY}]
    web = {"name": "web", "image": "web:1", "args": ["--password", CANARY], "command": ["run"], "env": env}
    side = {"name": "side", "image": "side:1", "env": [{"name": "MODE", "value": "slow"}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [web, side]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def patch(operations: list[dict[str, Any]]) -> str:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return yaml.safe_dump({"kind": "Patch", "target": target, "type": "json", "patch": operations})


def plan_patch(team: Team, operations: list[dict[str, Any]]) -> Plan:
    return team.plan(patch(operations), action=SetAction.PATCH)


@pytest.mark.core(1)
@pytest.mark.parametrize("name", PATCHES)
def test_no_page_shows_what_a_patch_makes_of_it(team: Team, name: str, step: int) -> None:
    assert team.apply(yaml.safe_dump(write())).state == "applied"

    plan = plan_patch(team, PATCHES[name])

    assert plan.state == PlanState.COMPLETE, plan.error
    assert [row.error for row in plan.changes.all()] == [""]
    assert find_shown(World(team, [plan, plan, plan]), 3, step) == []
    assert find_leaks(CANARY) == []


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_to_such_a_request_is_masked_too(team: Team, step: int) -> None:
    assert team.apply(yaml.safe_dump(write())).state == "applied"

    run = team.work(team.start(plan_patch(team, PATCHES["copied into an annotation"])))

    assert run.state == "applied", run.error
    assert find_shown(World(team, [run.plan] * 3, [run]), 9, step) == []
    assert find_leaks(CANARY) == []


GUESSES = {
    "test": lambda value: [
        {"op": "test", "path": VALUE, "value": value},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
    ],
    "test of an argument": lambda value: [
        {"op": "test", "path": f"{POD}/args/1", "value": value},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
    ],
    "test of a variable": lambda value: [
        {"op": "test", "path": f"{POD}/env/1", "value": {"name": "DB_PASSWORD", "value": value}},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
    ],
    "test of a copy": lambda value: [
        copy("/metadata/labels/note"),
        {"op": "test", "path": "/metadata/labels/note", "value": value},
    ],
    "test of a renamed variable": lambda value: [
        {"op": "replace", "path": f"{POD}/env/1/name", "value": "PLAIN"},
        {"op": "test", "path": VALUE, "value": value},
    ],
    "replace": lambda value: [{"op": "replace", "path": VALUE, "value": value}],
}


@pytest.mark.core(1)
@pytest.mark.parametrize("name", GUESSES)
def test_a_guess_in_an_operation_is_counted(team: Team, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(guess_limit, "MOST_A_DAY", 2)
    assert team.apply(yaml.safe_dump(write())).state == "applied"

    made = [plan_patch(team, GUESSES[name](f"guess-{number}")) for number in range(3)]

    assert [plan.state for plan in made] == [PlanState.COMPLETE] * 1 + [PlanState.FAILED] * 2
    assert "2 values" in made[-1].error


def test_a_test_of_what_is_shown_is_not_counted(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guess_limit, "MOST_A_DAY", 2)
    assert team.apply(yaml.safe_dump(write())).state == "applied"
    operations = [{"op": "test", "path": "/spec/replicas", "value": 0}, *PATCHES["copied as an argument"]]

    made = [plan_patch(team, [{**operations[0], "value": number}, operations[1]]) for number in range(4)]

    assert {plan.state for plan in made} == {PlanState.COMPLETE}


def test_copies_of_copies_are_refused() -> None:
    """Each operation doubles what it copies: thirty of them would fill the memory of a worker."""
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(40)]
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "x" * 1000}}

    def refuse() -> None:
        with pytest.raises(PatchError, match="accumulated size increase of copy") as raised:
            apply_json_patch(obj, doubling)
        assert raised.value.status == 413

    assert measure(refuse)[1] < 2


def test_the_cost_of_masking_operations_is_linear() -> None:
    """Sixteen times the operations on sixteen times the variables cost about sixteen times the CPU."""

    def run(size: int) -> None:
        obj = write()
        obj["spec"]["template"]["spec"]["containers"][0]["env"] = [
            {"name": f"DB_{n}_PASSWORD", "value": CANARY} for n in range(size)
        ]
        operations = [{"op": "replace", "path": f"{POD}/env/{n}/value", "value": CANARY} for n in range(size)]
        masker = make_masker(operations, DEPLOYMENT, b"k", "", DEFAULT_POLICY, None, None)
        shown = mask(obj, gvk=DEPLOYMENT, tag_key=b"k")
        found = mask_operations(operations, Beside(obj, shown), masker)
        assert CANARY[:8] not in json.dumps(found.operations)

    run(10)
    assert measure(run, 1600)[1] < 40 * max(measure(run, 100)[1], 0.01)
