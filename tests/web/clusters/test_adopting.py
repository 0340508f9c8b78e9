"""Many live objects are brought under one review: ticked on the page of the cluster, named by a program."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Role, RunState
from applyviz.records.models import Review
from applyviz.workflow.plans import planner
from tests.builders import grant_role
from tests.stories import Team
from tests.web.api.test_api import Program

pytestmark = pytest.mark.django_db
MAPS = "/api/v1/namespaces/default/configmaps"
NAMES = [
    "core/ConfigMap/default/first",
    "core/ConfigMap/default/second",
    "rbac.authorization.k8s.io/ClusterRole//reads",
]
ADDRESS = "/clusters/box/adopt/"


@pytest.fixture
def team(monkeypatch):
    team = Team().wire_up(monkeypatch)
    for name in ("first", "second"):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": name}}
        team.send(Request("POST", MAPS, {"fieldManager": "kubectl-create"}, JSON, body))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads"}}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    team.send(Request("POST", path, {"fieldManager": "kubectl-create"}, JSON, {**role, "rules": []}))
    return team


def browser_of(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def author(team):
    return browser_of(team.alice)


def test_objects_are_ticked_and_one_review_applies_them_all(team, author):
    page = author.get(reverse("clusters:show-objects", args=["box"])).content.decode()
    assert [name for name in NAMES if f'name="objects" value="{name}"' not in page] == []
    assert f'action="{ADDRESS}"' in page

    asked = author.post(ADDRESS, {"objects": NAMES})
    text = asked.content.decode()
    assert (asked.status_code, "Bring 3 objects of" in text) == (200, True)
    assert Review.objects.count() == 0
    answer = author.post(
        ADDRESS, {"objects": NAMES, "title": "Ours now", "mode": "client", "field_manager": "applyviz"}
    )

    review = Review.objects.get()
    assert answer.headers["Location"] == f"/reviews/{review.number}/"
    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()
    assert set(plan.changes.values_list("kind", "namespace", "name", "operation")) == {
        ("ConfigMap", "default", "first", "update"),
        ("ConfigMap", "default", "second", "update"),
        ("ClusterRole", "", "reads", "update"),
    }
    run = team.work(team.start(plan))
    assert (run.state, team.live(f"{MAPS}/first")["data"]) == (RunState.APPLIED, {"a": "first"})
    assert ApplyMode.CLIENT.value == plan.options["mode"]


def test_objects_that_are_gone_are_named_and_nothing_is_opened(author):
    names = [*NAMES, "core/ConfigMap/default/gone", "core/Secret/default/gone-too"]
    answer = author.post(ADDRESS, {"objects": names, "title": "x", "mode": "server", "field_manager": "applyviz"})

    assert answer.status_code == 409
    assert "no longer exist: ConfigMap gone, Secret gone-too." in answer.content.decode()
    assert Review.objects.count() == 0


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "Select at least one object."),
        (["nonsense"], "nonsense names no object"),
        ([f"core/ConfigMap/default/n{n}" for n in range(101)], "101 objects are selected; one review takes 100."),
    ],
    ids=["none", "no name", "too many"],
)
def test_odd_ticks_lead_back_to_the_list_with_a_reason(author, names, said):
    answer = author.post(ADDRESS, {"objects": names}, follow=True)

    assert answer.redirect_chain == [("/clusters/box/objects/", 302)]
    assert said in answer.content.decode()


def test_missing_title_is_told_and_keeps_the_ticks(author):
    answer = author.post(ADDRESS, {"objects": NAMES, "title": "", "mode": "server", "field_manager": "applyviz"})

    assert answer.status_code == 422
    assert answer.content.decode().count('type="hidden" name="objects"') == 3


def test_only_authors_of_the_namespaces_tick(team, author):
    viewer = browser_of(team.bob)
    page = viewer.get(reverse("clusters:show-objects", args=["box"])).content.decode()
    assert ('name="objects"' in page, viewer.post(ADDRESS, {"objects": NAMES}).status_code) == (False, 403)
    elsewhere = User.objects.create_user("charlie")
    grant_role(elsewhere, Role.AUTHOR, cluster="box", namespace="elsewhere", is_cluster_scoped=False)
    given = {"objects": NAMES, "title": "x", "mode": "server", "field_manager": "applyviz"}

    assert browser_of(elsewhere).post(ADDRESS, given).status_code in (403, 404)
    assert Review.objects.count() == 0


def test_program_names_the_objects(team):
    program = Program(team.alice)
    answer = program.post("clusters/box/adopt/", {"title": "Ours now", "objects": NAMES})

    assert (answer.status_code, answer.json()["review"]["number"]) == (201, Review.objects.get().number)


@pytest.mark.parametrize("objects", [None, [], "core/ConfigMap/default/first", [1], ["x"], ["a/b/c/d/e"]])
def test_program_is_told_what_names_no_object(team, objects):
    answer = Program(team.alice).post("clusters/box/adopt/", {"title": "Ours now", "objects": objects})

    assert answer.status_code == 422
    assert Review.objects.count() == 0
