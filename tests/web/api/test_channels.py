"""kOps channels for programs: the choice of each addon in the plan document, and the problems of entries."""

from __future__ import annotations

import pytest

from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.channels import simple
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(Team().alice)


def sent(files, **values):
    return {**body(**values), "files": [{"name": name, "content": text} for name, text in files.items()]}


@pytest.mark.parametrize(("given", "manager"), [({}, "kops"), ({"field_manager": "applyviz"}, "applyviz")])
def test_plan_of_a_channel_lists_its_addons(program, given, manager):
    assert program.post("reviews/", sent(simple(), **given)).status_code == 201
    planner.make_plan(Plan.objects.get().pk)

    document = program.get("reviews/1/plans/1/").json()

    assert document["field_manager"] == manager
    assert [(a["name"], a["action"], a["reason"], a["installed"]) for a in document["addons"]] == [
        ("dns", "install", "not-installed", None),
        ("web", "install", "not-installed", None),
    ]
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
