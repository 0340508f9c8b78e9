"""kOps channels for programs: the choice of each addon in the plan document, and the problems of entries."""

from __future__ import annotations

import pytest

from applyviz.engine.channels.choosing import hash_manifest
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.channels import config, pruning, simple
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body
from tests.workflow.test_channels import plan as make_plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(Team().alice)


def sent(files, **values):
    return {**body(**values), "files": [{"name": name, "content": text} for name, text in files.items()]}


@pytest.mark.core(1)
@pytest.mark.parametrize(("given", "manager"), [({}, "kops"), ({"field_manager": "applyviz"}, "applyviz")])
def test_plan_of_a_channel_lists_its_addons(program, given, manager):
    assert program.post("reviews/", sent(simple(), **given)).status_code == 201
    planner.make_plan(Plan.objects.get().pk)

    document = program.get("reviews/1/plans/1/").json()

    assert document["field_manager"] == manager
    assert [(a["name"], a["decision"], a["rule"], a["installed"], a["objects"]) for a in document["addons"]] == [
        ("dns", "install", "not-installed", None, [0, 1]),
        ("web", "install", "not-installed", None, [2, 3, 4]),
    ]
    assert document["addons"][0]["offered"] == {
        "version": "",
        "id": "k8s-1.30",
        "manifestHash": hash_manifest(config("dns").encode()),
        "systemGeneration": 1,
        "kubernetesVersion": "",
        "manifest": "dns/v1.yaml",
    }
    assert (document["addons"][0]["file"], document["addons"][0]["line"]) == ("bootstrap-channel.yaml", 6)
    assert document["addons"][0]["why"] == "Not installed: namespace kube-system has no annotation addons.k8s.io/dns."


def test_plan_of_other_manifests_lists_no_addons(program):
    assert program.post("reviews/", body(config_map(a="1"))).json()["addons"] == []


def test_odd_entry_of_a_channel_is_a_problem_with_its_line(program):
    files = simple()
    files["bootstrap-channel.yaml"] += "  - 5\n"

    refused = program.post("reviews/", sent(files))

    (problem,) = refused.json()["error"]["problems"]
    assert (refused.status_code, problem["message"]) == (422, "spec.addons[2] must be an object")
    assert (problem["file"], problem["line"] > 1) == ("bootstrap-channel.yaml", True)


def test_installed_addons_and_deletions_are_listed_with_their_records():
    team = Team()
    program = Program(team.alice)
    team.work(team.start(make_plan(team, simple("1", web={"prune": pruning()}))))

    program.post("reviews/", sent(simple("2", web={"prune": pruning()}, dns={"kubernetesVersion": "<1.20.0"})))
    made = Plan.objects.latest("pk")
    planner.make_plan(made.pk)
    document = program.get(f"reviews/{made.review.number}/").json()

    dns, web = document["addons"]
    assert (dns["decision"], dns["rule"], dns["objects"]) == ("skip", "other-kubernetes", [])
    assert (web["decision"], web["rule"]) == ("update", "other-manifest")
    assert web["installed"] == {
        "version": "",
        "id": "k8s-1.30",
        "manifestHash": hash_manifest(simple("1")["web/v1.yaml"].encode()),
        "systemGeneration": 1,
        "channel": "bootstrap-channel.yaml",
    }
    operations = {one["position"]: (one["operation"], one["name"]) for one in document["objects"]}
    assert [operations[position] for position in web["objects"]] == [
        ("update", "web"),
        ("create", "web-2"),
        ("prune", "web-1"),
        ("update", "kube-system"),
    ]


@pytest.mark.long
def test_program_has_skipped_addons_planned_and_takes_the_choice_back(program):
    files = simple(web={"kubernetesVersion": "<1.20.0"})
    assert program.post("reviews/", sent(files, addons_anyway=["web"])).status_code == 201
    planner.make_plan(Plan.objects.get().pk)

    dns, web = program.get("reviews/1/").json()["addons"]
    assert [(a["decision"], a["rule"], a["anyway"]) for a in (dns, web)] == [
        ("install", "not-installed", False),
        ("install", "other-kubernetes", True),
    ]
    assert web["why"].endswith("kOps skips it; it is planned anyway.")

    for asked, decision in ({}, "install"), ({"addons_anyway": []}, "skip"), ({"addons_anyway": "web"}, "install"):
        assert program.post("reviews/1/plans/", asked).status_code == 201
        made = Plan.objects.latest("pk")
        planner.make_plan(made.pk)
        assert program.get("reviews/1/").json()["addons"][1]["decision"] == decision


@pytest.mark.parametrize("field", ["addons_anyway", "marking_addons"])
@pytest.mark.parametrize("given", [5, [5], {"web": True}])
def test_chosen_addons_are_a_list_of_names(program, field, given):
    refused = program.post("reviews/", sent(simple(), **{field: given}))

    assert refused.status_code == 422
    assert [problem["field"] for problem in refused.json()["error"]["problems"]] == [field]


def test_addons_belong_to_an_apply(program):
    refused = program.post("reviews/", sent(simple(), addons_anyway=["web"], operation="delete"))

    assert ("addons_anyway", "it belongs to the operation apply") in [
        (problem["field"], problem["message"]) for problem in refused.json()["error"]["problems"]
    ]
