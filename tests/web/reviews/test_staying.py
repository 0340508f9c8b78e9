"""The Overview and the API name what prune leaves, to people who may view its namespace."""

import pytest
from django.test import Client

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.enums import Role
from applyviz.records.models import Plan
from applyviz.workflow.plans.left_behind import list_staying
from tests.builders import grant_role, make_person
from tests.shared_stories import share_story
from tests.stories import config_map
from tests.web.api.test_api import Program

pytestmark = pytest.mark.django_db
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": CLIENT_SIDE_MANAGER}
PRUNE = {**CLIENT, "prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)}
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"


def leave_behind(team):
    """Create a set whose second object left with its namespace, beside an object made by hand."""
    team.apply(NAMESPACE)
    moved = config_map("moved", a="1").replace("name: moved", "name: moved\n  namespace: other")
    team.apply(config_map(a="1"), moved, **PRUNE)
    team.apply_as("kubectl-create", config_map("by-hand", a="1"))
    team.plan(config_map(a="1"), **PRUNE)


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, leave_behind)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def plan(team):
    return Plan.objects.latest("pk")


def read_overview(person, plan) -> str:
    client = Client()
    client.force_login(person)
    page = client.get(f"/reviews/{plan.review.number}/plans/{plan.number}/overview/")
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def test_overview_names_each_object_with_the_reason(team, plan):
    page = read_overview(team.alice, plan)

    assert "Prune leaves 2 objects" in page
    assert "ConfigMap/by-hand in default: it matches, but it has no last-applied annotation" in page
    assert "ConfigMap/moved in other: no object of the files is in its namespace" in page
    assert "not in these manifests" not in page


def test_plan_without_prune_says_nothing_of_it(team, plan):
    assert "Prune leaves" not in read_overview(team.alice, team.plan(config_map(a="2"), **CLIENT))


def test_program_reads_them(team, plan):
    grant_role(team.alice, Role.OPERATOR)

    stays = Program(team.alice).get(f"reviews/{plan.review.number}/").json()["stays"]

    assert [(one["namespace"], one["kind"], one["name"]) for one in stays] == [
        ("default", "ConfigMap", "by-hand"), ("other", "ConfigMap", "moved"),
    ]  # fmt: skip
    assert stays[1]["reason"] == "no object of the files is in its namespace"


def test_objects_of_other_namespaces_are_hidden_from_people_of_one(team, plan):
    carol = make_person("carol")
    grant_role(carol, Role.VIEWER, namespace="default")

    assert [one.ref.name for one in list_staying(plan, for_user=carol)] == ["by-hand"]
