"""How programs move field ownership: fields handed over, managers that give up theirs, live fields taken."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Handover, TakenField
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.stories import SETTINGS, config_map
from tests.web.api.test_api import body
from tests.web.reviews.test_hand_over import SCALER, WEB

pytestmark = pytest.mark.django_db
KEY = ("apps", "Deployment", "default", "web")
REPLICAS = ("f:spec", "f:replicas")
LINE = "apps/Deployment/default/web .spec.replicas"
MAP = ("", "ConfigMap", "default", "settings")


def make():
    """Let the newest plan be made; its options."""
    plan = Plan.objects.order_by("pk").last()
    planner.make_plan(plan.pk)
    return options_from_json(Plan.objects.get(pk=plan.pk).options)


def problems_of(answer):
    assert answer.status_code == 422, answer.json()
    return [(problem.get("field"), problem["message"]) for problem in answer.json()["error"]["problems"]]


def test_field_is_handed_over_by_a_new_review_and_taken_back_by_its_next_plan(team, program):
    team.apply(WEB, SCALER)

    made = program.post("reviews/", body(WEB, SCALER, hand_over=LINE, hand_over_to="scaler"))
    assert made.status_code == 201, made.json()
    assert make().handovers == (Handover(KEY, REPLICAS, "scaler"),)
    number = made.json()["review"]["number"]
    plan = program.get(f"reviews/{number}/").json()
    (web,) = [one for one in plan["objects"] if one["kind"] == "Deployment"]
    assert plan["impact"][-1] == "Handed over to scaler: Deployment/web .spec.replicas"
    assert [(risk["kind"], risk["level"]) for risk in web["risks"]] == [("ownership-moved", "medium")]
    counts = {(o["manager"], o.get("before", 0) > 0, o.get("after", 0)) for o in web["owners"]}
    assert ("scaler", False, 1) in counts

    assert program.post(f"reviews/{number}/plans/", {}).status_code == 201
    assert make().handovers == (Handover(KEY, REPLICAS, "scaler"),)
    assert program.post(f"reviews/{number}/plans/", {"hand_over": ""}).status_code == 201
    assert make().handovers == ()
    assert program.post(f"reviews/{number}/plans/", {"hand_over": LINE}).status_code == 201
    assert make().handovers == (Handover(KEY, REPLICAS, "handover-to-hpa"),)
    new = {"files": body(WEB, SCALER)["files"]}
    assert program.post(f"reviews/{number}/plans/", {"hand_over": LINE, **new}).status_code == 201
    assert make().handovers == (Handover(KEY, REPLICAS, "handover-to-hpa"),)


def test_managers_that_give_up_their_fields_are_named(team, program):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2"}}, manager="helm")

    assert program.post("reviews/", body(config_map(a="1"), take_from="helm, kubectl-edit")).status_code == 201

    assert make().takes_from == ("helm", "kubectl-edit")
    (settings,) = program.get("reviews/2/").json()["objects"]
    assert (settings["operation"], settings["conflicts"]) == ("update", [])
    assert "applyviz takes over the fields of helm" in settings["risks"][0]["text"]
    assert program.post("reviews/2/plans/", {"take_from": ""}).status_code == 201
    assert make().takes_from == ()


@pytest.mark.long
def test_live_fields_are_taken_by_the_next_plan(team, program):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2", "b": "x"}})
    program.post("reviews/", body(config_map(a="1")))
    make()
    lines = "core/ConfigMap/default/settings .data.a\ncore/ConfigMap/default/settings data.b"

    assert program.post("reviews/2/plans/", {"take_fields": lines}).status_code == 201

    taken = make().taken_fields
    assert taken == tuple(TakenField(MAP, ("f:data", name), "kubectl-edit", is_live=True) for name in ("f:a", "f:b"))
    plan = Plan.objects.order_by("pk").last()
    run = team.work(team.start(plan))
    assert (run.state, team.live()["data"]) == ("applied", {"a": "2", "b": "x"})
    program.post("reviews/", body(config_map(a="2", b="x")))
    make()
    assert program.get("reviews/3/").json()["status"] == "nothing-to-apply"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hand_over": "Deployment/web .spec.replicas"}, ("hand_over", "Deployment/web is no object of this set")),
        ({"hand_over": "apps/Deployment/default/web .spec.none"}, ("hand_over", "has no field .spec.none")),
        ({"hand_over": f"{LINE}\nx y"}, ("hand_over", "x is no object of this set")),
        ({"hand_over": f"{LINE}\n" * 501}, ("hand_over", "name at most 500 fields")),
        ({"hand_over": LINE, "hand_over_to": "applyviz"}, ("hand_over_to", "other than that of the plan")),
        ({"hand_over": LINE, "hand_over_to": "a b"}, ("hand_over_to", "")),
        ({"take_from": "a\tb"}, ("take_from", "")),
        ({"take_fields": LINE}, (None, "there is no field 'take_fields'")),
    ],
)
def test_odd_choices_are_problems_with_their_field(program, given, expected):
    found = problems_of(program.post("reviews/", body(WEB, **given)))

    assert [(field, expected[1] in text) for field, text in found] == [(expected[0], True)]


@pytest.mark.long
def test_field_that_nobody_else_set_is_not_taken(team, program):
    team.apply(config_map(a="1"))
    program.post("reviews/", body(config_map(a="1")))
    make()

    found = problems_of(program.post("reviews/2/plans/", {"take_fields": "core/ConfigMap/default/settings .data.a"}))

    assert [field for field, _ in found] == ["take_fields"]
    assert Plan.objects.filter(review__number=2).count() == 1


def test_deletion_moves_no_ownership(program):
    found = problems_of(program.post("reviews/", body(WEB, operation="delete", hand_over=LINE, take_from="helm")))

    assert {field for field, _ in found} == {"hand_over", "take_from"}


@pytest.mark.core(1)
@pytest.mark.parametrize("operation", ["set-last-applied", "clear-managed-fields"])
def test_records_are_written_by_a_review_of_their_own(team, program, operation):
    team.apply(config_map(a="1"))

    made = program.post("reviews/", body(config_map(a="1"), operation=operation, clear_patch="json"))

    assert made.status_code == 201, made.json()
    make()
    plan = program.get("reviews/2/").json()
    (settings,) = plan["objects"]
    assert (plan["operation"], settings["operation"], settings["method"]) == (
        operation,
        "update",
        "JSON patch" if operation == "clear-managed-fields" else "JSON merge patch",
    )
    assert [risk["kind"] for risk in settings["risks"]] == ["ownership-moved"]
    changed = {field["path"].split(".")[2].partition("[")[0] for field in settings["fields"]}
    assert changed <= {"annotations", "managedFields"}
    odd = program.post("reviews/", body(config_map(a="1"), operation=operation, clear_patch="yaml"))
    assert [field for field, _ in problems_of(odd)] == ["clear_patch"]
    assert [f for f, _ in problems_of(program.post("reviews/", body(WEB, operation=operation, hand_over=LINE)))] == [
        "hand_over"
    ]
