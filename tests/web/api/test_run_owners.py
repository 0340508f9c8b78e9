"""Runs in the API: managedFields of each object before and after, as the plan read them and as the server answered."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Role
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.stories import config_map, secret
from tests.web.api.test_api import Program, body
from tests.web.api.test_moves import move
from tests.web.reviews.test_hand_over import WEB

pytestmark = pytest.mark.django_db
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"


def work(team, program, given):
    """Open a review, plan and run it; the number of the run."""
    made = program.post("reviews/", given)
    assert made.status_code == 201, made.json()
    plan = Plan.objects.order_by("pk").last()
    planner.make_plan(plan.pk)
    plan.refresh_from_db()
    return team.work(team.start(plan)).number


def owners(entries):
    return {(entry["manager"], entry["operation"]) for entry in entries}


def without_times(live):
    return [{n: v for n, v in entry.items() if n != "time"} for entry in live["metadata"]["managedFields"]]


@pytest.mark.long
def test_hand_over_shows_the_owners_before_and_after_it(team, program):
    team.apply(WEB)
    given = body(WEB, config_map(a="1"), moves=[move("hand-over", "Deployment/default/web", fields=[".spec.replicas"])])

    number = work(team, program, given)

    answer = program.get(f"runs/{number}/?count=10").json()
    found = {one["kind"]: one["managed_fields"] for one in answer["objects"]}
    assert owners(found["Deployment"]["before"]) == {("applyviz", "Apply")}
    assert owners(found["Deployment"]["after"]) == {("applyviz", "Apply"), ("handover-to-hpa", "Apply")}
    assert found["Deployment"]["after"] == without_times(team.live(DEPLOYMENT))
    assert found["ConfigMap"] == {"before": [], "after": without_times(team.live())}


def test_objects_come_in_pages_and_without_a_count_they_are_short(team, program):
    number = work(team, program, body(config_map(a="1"), config_map("more", a="1")))

    whole, page = program.get(f"runs/{number}/").json(), program.get(f"runs/{number}/?start=1&count=1").json()

    assert sorted(one["name"] for one in whole["objects"]) == ["more", "settings"]
    assert all("managed_fields" not in one for one in whole["objects"])
    assert [one["name"] for one in page["objects"]] == [whole["objects"][1]["name"]]
    assert (page["objects_in_all"], page["mark"]) == (2, whole["mark"])
    assert program.get(f"runs/{number}/?count=501").status_code == 422


@pytest.mark.long
def test_deleted_unchanged_and_moved_back(team, program):
    team.apply(config_map("gone", a="1"), config_map(a="1"))
    same = work(team, program, body(config_map(a="1"), config_map("new", a="1")))
    gone = work(team, program, body(config_map("gone"), operation="delete"))
    back = work(team, program, body(config_map(a="1"), mode=ApplyMode.CLIENT.value))

    (unchanged,) = [o for o in program.get(f"runs/{same}/?count=2").json()["objects"] if o["name"] == "settings"]
    (deleted,) = program.get(f"runs/{gone}/?count=1").json()["objects"]
    (moved,) = program.get(f"runs/{back}/?count=1").json()["objects"]

    assert unchanged["managed_fields"]["before"] == unchanged["managed_fields"]["after"] != []
    assert owners(deleted["managed_fields"]["before"]) == {("applyviz", "Apply")}
    assert deleted["managed_fields"]["after"] == []
    assert moved["managed_fields"]["after"] == without_times(team.live())


@pytest.mark.long
def test_answer_of_a_subresource_says_nothing_about_owners(team, program):
    team.apply(WEB)
    patch = {
        "target": "Deployment/default/web",
        "type": "merge",
        "subresource": "scale",
        "patch": "spec: {replicas: 5}",
    }
    given = {name: value for name, value in body(patches=[patch]).items() if name != "files"}

    number = work(team, program, given)

    (web,) = program.get(f"runs/{number}/?count=1").json()["objects"]
    assert web["outcome"] == "applied"
    assert web["managed_fields"]["after"] is None


def test_owners_of_a_secret_are_not_shown_to_who_may_not_read_it(team, program):
    team.apply(secret(password="one"))
    number = work(team, program, body(secret(password="two")))
    blind = Program(make_person("vera", Role.VIEWER))

    assert program.get(f"runs/{number}/?count=1").json()["objects"][0]["managed_fields"]["after"]
    assert blind.get(f"runs/{number}/?count=1").json()["objects"][0]["managed_fields"] is None
