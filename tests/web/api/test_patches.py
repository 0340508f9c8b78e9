"""How programs send a patch: in fields of a review, or in files that hold patch documents."""

from __future__ import annotations

import pytest
import yaml

from applyviz.records.enums import Role
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.builders import grant_role
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db


@pytest.fixture
def program(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map(a="1"))
    grant_role(team.alice, Role.OPERATOR)
    return Program(team.alice)


def base(**fields):
    given = {"operation": "patch", **fields}
    return {name: value for name, value in body("", **given).items() if name != "files"}


def list_problems(answer):
    assert answer.status_code == 422
    return [(problem["field"], problem["message"]) for problem in answer.json()["error"]["problems"]]


def test_patch_in_fields_is_planned(program):
    fields = {"patch_objects": "configmap/settings", "patch_type": "merge", "patch": '{"data": {"a": "2"}}'}
    answer = program.post("reviews/", base(**fields))
    assert answer.status_code == 201, answer.json()
    plan = Plan.objects.latest("pk")
    planner.make_plan(plan.pk)

    found = program.get(f"reviews/{plan.review.number}/").json()

    assert found["operation"] == "patch"
    (one,) = found["objects"]
    assert (one["operation"], one["fields"]) == (
        "update",
        [{"path": ".data.a", "operation": "changed", "live": '"1"', "after": '"2"', "why": "changed by the patch"}],
    )  # fmt: skip


def test_patch_documents_in_files_are_planned(program):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
    text = yaml.safe_dump({"kind": "Patch", "target": target, "type": "merge", "patch": {"data": {"a": "2"}}})

    answer = program.post("reviews/", body(text, operation="patch"))

    assert answer.status_code == 201, answer.json()
    plan = Plan.objects.latest("pk")
    planner.make_plan(plan.pk)
    assert plan.changes.get().operation == "update"


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"patch_objects": "configmap/settings"}, "patch"),
        ({"patch": "{}"}, "patch_objects"),
        ({"patch_objects": "x/y", "patch": "{}"}, "patch_objects"),
        ({"patch_objects": "cm/a", "patch": "{}", "patch_type": "yaml"}, "patch_type"),
        ({"patch_objects": "cm/a", "patch": "{}", "patch_subresource": "log"}, "patch_subresource"),
        ({"patch_objects": "cm/a", "patch": "{}", "selector": "a=b", "prune": "allowlist"}, "prune"),
        ({"patch_objects": "cm/a", "patch": "{}", "operation": "apply"}, "patch_objects"),
    ],
)
def test_problem_of_a_patch_names_its_field(program, fields, field):
    problems = list_problems(program.post("reviews/", base(**fields)))

    assert field in [name for name, _ in problems]
    assert "files" not in [name for name, _ in problems]


def test_problem_of_the_text_names_its_line(program):
    answer = program.post("reviews/", base(patch_objects="cm/settings", patch="- op: add", patch_type="json"))

    (problem,) = answer.json()["error"]["problems"][:1]
    assert (problem["file"], problem["line"]) == ("patch.yaml", 9)
    assert "patch[0].path must be a path" in problem["message"]
