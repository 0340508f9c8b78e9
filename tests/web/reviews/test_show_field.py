"""Everything that is known of one field: schema, also of a custom resource, owners in live, and earlier runs."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.clusters import sandbox
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.plans.changes import read_masked
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cakes.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Cake, plural: cakes, singular: cake, listKind: CakeList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                layers: {type: integer, description: How high it is.}
"""
CAKE = """
apiVersion: shop.example.com/v1
kind: Cake
metadata: {name: birthday}
spec: {layers: 3}
"""


def show(team, plan, name, path):
    browser = Client()
    browser.force_login(team.bob)
    row = plan.changes.get(name=name)
    index = next(n for n, r in enumerate(read_masked(row).fields) if r.path == path)
    address = reverse("reviews:show-field", args=[plan.review.number, plan.number, row.position, index])
    return browser.get(address, headers={"HX-Request": "true"}).content.decode()


def test_custom_resource_is_explained_by_the_definition_in_its_plan(team):
    plan = team.plan(DEFINITION, CAKE)

    assert "How high it is." in show(team, plan, "birthday", ("f:spec", "f:layers"))


def test_custom_resource_is_explained_by_the_definition_in_the_cluster(team):
    team.apply(DEFINITION)
    plan = team.plan(CAKE)

    assert "How high it is." in show(team, plan, "birthday", ("f:spec", "f:layers"))


def test_field_tells_its_owners_and_what_runs_did_to_it(team):
    first = team.apply(config_map(colour="red"))
    second = team.apply(config_map(colour="green"))
    team.edit(SETTINGS, {"data": {"colour": "blue"}})
    plan = team.plan(config_map(colour="white"))

    html = show(team, plan, "settings", ("f:data", "f:colour"))

    assert "kubectl-edit" in html
    assert [html.count(f"run {run.number}</a>") for run in (first, second)] == [1, 1]
    assert html.index(f"run {second.number}</a>") < html.index(f"run {first.number}</a>")


def test_field_that_no_run_moved_says_so(team):
    plan = team.plan(config_map(colour="red"))

    assert "No earlier run changed it on this cluster." in show(team, plan, "settings", ("f:data", "f:colour"))


@pytest.mark.core(1)
@pytest.mark.parametrize("days", [-1, 1])
def test_last_write_is_dated_by_our_clock(team, monkeypatch, days):
    monkeypatch.setattr(sandbox, "_now", lambda: clock.host_now() + timedelta(days=days))
    team.apply_as("kubectl-edit", config_map(colour="blue"))
    plan = team.plan(config_map(colour="white"))
    browser = Client()
    browser.force_login(team.bob)

    field = show(team, plan, "settings", ("f:data", "f:colour"))
    owners = browser.get(link_alone(plan, plan.changes.get().position, "owners")).content.decode()

    today = f'<time datetime="{clock.host_now().date().isoformat()}T'
    assert [today in field, today in owners.partition('data-label="Last write"')[2][:60]] == [True, True]
