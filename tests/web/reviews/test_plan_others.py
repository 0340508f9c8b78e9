"""The page that makes the next plan without the objects that hold the rest."""

from __future__ import annotations

import pytest
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone, link_change
from applyviz.workflow.plans import planner, reviews
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
BROKEN = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 99999999}]}\n"
INGRESS = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
"""


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def blocked(team):
    return team.plan(BROKEN, INGRESS, config_map(a="1"))


@pytest.fixture
def author(client, team):
    client.force_login(team.alice)
    return client


def address(plan: Plan) -> str:
    return reverse("reviews:plan-others", args=[plan.review.number, plan.number])


def read(browser, plan: Plan, name: str = "plan-others") -> str:
    return browser.get(reverse(f"reviews:{name}", args=[plan.review.number, plan.number])).content.decode()


def position(plan: Plan, name: str) -> int:
    return plan.changes.get(name=name).position


def choose(browser, plan: Plan, *names: str, reason: str = "wrong port") -> Plan:
    answer = browser.post(address(plan), {"objects": [position(plan, name) for name in names], "reason": reason})
    assert answer.status_code == 302, answer.content.decode()
    following = plan.review.plans.order_by("number").last()
    planner.make_plan(following.pk)
    return plan.review.plans.get(pk=following.pk)


def test_overview_offers_the_other_objects_and_the_page_preselects_the_refused_one(author, blocked):
    overview = read(author, blocked, "show-overview")
    assert "1 object blocks the others" in overview
    assert "Plan the other 2…" in overview
    assert address(blocked) in overview
    assert f'<a href="{link_change(blocked, position(blocked, "web"))}">Service/web</a>' in overview

    page = " ".join(read(author, blocked).split())
    ticks = [part.partition(">")[0] for part in page.split('name="objects"')[1:]]
    assert [f'value="{position(blocked, "web")}"' in tick and "checked" in tick for tick in ticks] == [
        True,
        False,
        False,
    ]
    assert "refers to Service/web" in page
    assert 'value="Refused in plan 1"' in page


def test_choice_makes_the_next_plan_and_both_it_and_its_record_say_so(author, blocked):
    plan = choose(author, blocked, "web")

    assert dict(plan.changes.values_list("name", "operation"))["web"] == Operation.LEFT_OUT
    overview = read(author, plan, "show-overview")
    assert "1 object is left out" in overview
    assert "wrong port. Left-out objects stay members of their set, and nothing is pruned this time." in overview
    assert "1 left out" in overview
    assert f'<a href="{link_change(plan, position(plan, "web"))}">Service/web</a>' in overview
    assert "Refers to an object that is left out" in overview
    pane = author.get(link_alone(plan, position(plan, "web"))).content.decode()
    assert "Left out of this plan" in pane
    assert "it does not exist in the cluster" in pane
    assert pane.lower().count("nothing of it is sent") == 1
    record = read(author, plan, "show-record")
    assert "Service/default/web: wrong port" in record
    assert read(author, plan, "show-graph")


def test_page_takes_an_object_back_in(author, blocked):
    plan = choose(author, blocked, "web", "front")
    page = " ".join(read(author, plan).split())
    assert page.count("checked") == 2
    assert 'value="wrong port"' in page

    assert options_from_json(choose(author, plan, "front").options).left_out == (
        "networking.k8s.io/Ingress/default/front",
    )


def test_choice_without_a_reason_is_explained_and_keeps_the_ticks(author, blocked):
    answer = author.post(address(blocked), {"objects": [position(blocked, "front")], "reason": ""})

    assert answer.status_code == 422
    page = " ".join(answer.content.decode().split())
    assert "say why these objects are left out" in page
    ticked = [
        part.partition(">")[0] for part in page.split('name="objects"')[1:] if "checked" in part.partition(">")[0]
    ]
    assert len(ticked) == 1
    assert f'value="{position(blocked, "front")}"' in ticked[0]
    assert blocked.review.plans.count() == 1


def test_only_authors_of_the_latest_plan_choose(client, author, team, blocked):
    client.force_login(team.bob)
    assert "Plan the other" not in read(client, blocked, "show-overview")
    assert client.post(address(blocked), {"objects": [], "reason": ""}).status_code == 403

    client.force_login(team.alice)
    made = reviews.replan_review(blocked.review, by=team.alice)
    assert client.get(address(blocked)).status_code == 409
    assert client.get(address(made)).status_code == 409  # it is not finished
    planner.make_plan(made.pk)
    assert client.get(address(made)).status_code == 200


def test_plan_without_refused_objects_can_leave_some_out_too(author, team):
    plan = team.plan(config_map(a="1"), config_map("other", a="1"))

    assert "hold the rest" not in read(author, plan, "show-overview")
    assert "No object of this plan is refused." in read(author, plan)
    assert choose(author, plan, "other", reason="later").changes.get(name="other").operation == Operation.LEFT_OUT


def test_position_of_another_plan_is_refused(author, blocked):
    assert author.post(address(blocked), {"objects": ["99"], "reason": "x"}).status_code == 422


@pytest.mark.long
def test_object_that_the_server_refuses_to_prune_cannot_be_left_out(author, team):
    """Nothing of the files names it: a plan without it would be refused as naming an object that is not in the set."""
    members = {"prune": Prune(PruneMode.APPLYSET, applyset="parent")}
    system = "apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}\n"
    team.apply(system, config_map(a="1"), **members)
    plan = team.plan(config_map(a="2"), **members)

    refused = plan.changes.get(name="kube-system")
    overview = read(author, plan, "show-overview")

    assert (refused.operation, "this namespace may not be deleted" in refused.error) == ("error", True)
    assert "Plan the other" not in overview
    assert "Re-plan without prune" in read(author, plan, "show-plan")
    assert f'value="{refused.position}"' not in read(author, plan)
