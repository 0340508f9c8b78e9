"""How programs choose what may be replaced, and how objects are deleted."""

from __future__ import annotations

import pytest

from applyviz.records.enums import Role
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.builders import grant_role
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    team = Team()
    grant_role(team.alice, Role.OPERATOR)
    return Program(team.alice)


def test_objects_to_replace_are_chosen_for_a_review_and_for_its_next_plan(program):
    chosen = {"replace": "batch/Job, core/Service/default/web", "propagation": "Orphan", "deletion_seconds": "90"}
    assert program.post("reviews/", body(config_map(a="1"), **chosen)).status_code == 201
    first = Plan.objects.get().options
    assert first["replacement"] == {"kinds": ["batch/Job"], "objects": ["core/Service/default/web"]}
    assert (first["propagation"], first["deletion_seconds"]) == ("Orphan", 90)
    planner.make_plan(Plan.objects.get().pk)

    assert program.post("reviews/1/plans/", {"replace": "core/Secret"}).status_code == 201

    second = Plan.objects.get(number=2).options
    assert second == {**first, "replacement": {"kinds": ["core/Secret"]}}
    first_plan = program.get("reviews/1/plans/1/").json()
    assert first_plan["objects"][0]["can_be_replaced"] is False
    unmatched = "Chosen for replacement, but not in these manifests: batch/Job, core/Service/default/web"
    assert unmatched in first_plan["impact"]


@pytest.mark.parametrize(
    ("field", "value"), [("replace", "job"), ("replace", "Job/a"), ("propagation", "Now"), ("deletion_seconds", "0")]
)
def test_odd_choices_of_deletions_are_problems(program, field, value):
    answer = program.post("reviews/", body(config_map(a="1"), **{field: value}))

    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["problems"]] == [field]


@pytest.mark.long
def test_objects_are_left_out_of_a_review_and_of_its_next_plan(program):
    chosen = {"leave_out": "core/ConfigMap/default/other", "leave_out_reason": "later"}
    texts = config_map(a="1") + "---\n" + config_map("other", a="1")
    assert program.post("reviews/", body(texts, **chosen)).status_code == 201
    planner.make_plan(Plan.objects.get().pk)

    objects = {one["name"]: one for one in program.get("reviews/1/plans/1/").json()["objects"]}
    assert (objects["other"]["operation"], objects["other"]["left_out"]) == ("left-out", "later")
    assert objects["settings"]["left_out"] == ""

    for given, left_out in (
        ({}, ["core/ConfigMap/default/other"]),
        (
            {"leave_out": "core/ConfigMap/default/settings", "leave_out_reason": "x"},
            ["core/ConfigMap/default/settings"],
        ),
        ({"files": body(texts)["files"]}, []),
        (chosen | {"files": body(texts)["files"]}, ["core/ConfigMap/default/other"]),
        ({"leave_out": ""}, []),
    ):
        assert program.post("reviews/1/plans/", given).status_code == 201, given
        latest = Plan.objects.order_by("number").last()
        assert latest.options.get("left_out", []) == left_out
        planner.make_plan(latest.pk)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"without": ["other"]}, ["without"]),
        ({"prune": {"selector": "a in ("}, "mode": "client"}, ["prune.selector"]),
        ({"prune": {"all": True, "allowlist": ["x"]}, "mode": "client"}, ["prune.allowlist"]),
        ({"prune": {"applyset": "/", "except": ["x"]}}, ["prune.applyset", "prune.except"]),
        ({"prune": {"all": True}, "operation": "delete", "mode": "client"}, ["prune", "prune.all"]),
        ({"prune": "applyset", "applyset": "/"}, ["applyset"]),
        ({"moves": [{"what": "to-server-side", "managers": [f"m{n:0>99}" for n in range(11)]}]}, ["moves"]),
    ],
)
def test_problems_name_the_fields_that_the_body_has(program, given, fields):
    answer = program.post("reviews/", body(config_map(a="1"), **given))

    assert answer.status_code == 422
    assert sorted(problem["field"] for problem in answer.json()["error"]["problems"]) == fields


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"leave_out": "core/ConfigMap/default/other"}, "leave_out_reason"),
        ({"leave_out": "other", "leave_out_reason": "x"}, "leave_out"),
    ],
)
def test_odd_choices_of_left_out_objects_are_problems(program, given, field):
    answer = program.post("reviews/", body(config_map(a="1"), **given))

    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["problems"]] == [field]


def test_objects_of_a_review_are_deleted(program):
    chosen = {"operation": "delete", "propagation": "Foreground", "deletion_seconds": "5"}
    assert program.post("reviews/", body(config_map(a="1"), **chosen)).status_code == 201
    planner.make_plan(Plan.objects.get().pk)

    plan = program.get("reviews/1/plans/1/").json()

    assert (plan["operation"], [one["operation"] for one in plan["objects"]]) == ("delete", ["not-found"])
    assert plan["deletion"] == "dependents are deleted before it (foreground); waits up to 5 seconds"
    assert program.post("reviews/1/plans/", {"deletion_seconds": "9"}).status_code == 201
    assert Plan.objects.get(number=2).options["action"] == "delete"


@pytest.mark.parametrize(
    ("chosen", "field"),
    [({"operation": "remove"}, "operation"), ({"operation": "delete", "replace": "batch/Job"}, "replace")],
)
def test_odd_operations_are_problems(program, chosen, field):
    answer = program.post("reviews/", body(config_map(a="1"), **chosen))

    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["problems"]] == [field]


def test_choices_are_objects_and_lists(program):
    chosen = {
        "mode": "client", "prune": {"selector": "app=x", "allowlist": ["core/v1/ConfigMap", "apps/v1/Deployment"]},
        "replace": ["Job", "Job/default/migrate"], "propagation": "Orphan", "deletion_seconds": 90,
    }  # fmt: skip

    assert program.post("reviews/", body(config_map(a="1"), **chosen)).status_code == 201
    for prune in ({"all": True}, {"applyset": "configmaps/shop"}):
        assert program.post("reviews/", body(config_map(a="1"), **{**chosen, "prune": prune})).status_code == 201

    first, second, third = (plan.options for plan in Plan.objects.order_by("review__number"))
    assert (first["selector"], first["prune"]) == (
        "app=x", {"mode": "allowlist", "allowlist": ["core/v1/ConfigMap", "apps/v1/Deployment"]},
    )  # fmt: skip
    assert second["prune"] == {"mode": "allowlist", "is_all": True}
    assert third["prune"] == {"mode": "applyset", "applyset": "configmaps/shop"}
    assert first["replacement"] == {"kinds": ["Job"], "objects": ["Job/default/migrate"]}
    assert first["deletion_seconds"] == 90


@pytest.mark.long
def test_next_plan_is_made_without_named_objects(program):
    texts = config_map(a="1") + "---\n" + config_map("other", a="1")
    program.post("reviews/", body(texts))
    planner.make_plan(Plan.objects.get().pk)

    assert program.post("reviews/1/plans/", {"without": ["ConfigMap/default/other"]}).status_code == 201
    planner.make_plan(Plan.objects.get(number=2).pk)

    plan = program.get("reviews/1/plans/2/").json()
    assert {one["name"]: one["operation"] for one in plan["objects"]} == {"settings": "create", "other": "left-out"}
    assert plan["problems"] == []
    assert plan["approvals"]["given_by"] == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"prune": {}}, "prune"),
        ({"prune": {"selector": "a=b", "all": True}}, "prune"),
        ({"prune": {"all": "yes"}}, "prune"),
        ({"prune": {"all": True, "allow": []}}, "prune"),
        ({"prune": {"all": True, "allowlist": "core/v1/ConfigMap"}}, "prune"),
        ({"prune": {"applyset": "secrets/a", "allowlist": ["core/v1/ConfigMap"]}}, "prune.allowlist"),
        ({"prune": {"all": True, "except": "core/Secret"}}, "prune"),
        ({"prune": {"all": True, "except": ["Secret"]}}, "prune.except"),
        ({"prune_except": "core/Secret"}, "prune_except"),
        ({"replace": [1]}, "replace"),
        ({"without": "ConfigMap/default/other"}, "without"),
        ({"without": ["other"]}, "without"),
    ],
)
def test_odd_shapes_of_choices_are_problems(program, given, field):
    answer = program.post("reviews/", body(config_map(a="1"), mode="client", **given))

    assert answer.status_code == 422
    assert {problem["field"] for problem in answer.json()["error"]["problems"]} == {field}
