"""A write that removes the last finalizer of an object that is being deleted: every page says that the object goes."""

from __future__ import annotations

import pytest
import yaml
from django.test import Client

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.components.object_links import link_alone
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
HELD = {"name": "settings", "finalizers": ["example.com/hold"]}
BOTH = pytest.mark.parametrize("mode", list(ApplyMode))


@pytest.fixture
def page(team):
    client = Client()
    client.force_login(team.alice)
    return client


def read(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(answer.content.decode().split()).partition("<main")[2]


def begin(team, mode):
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": HELD, "data": {"a": "1"}})
    team.apply(text, mode=mode)
    team.send(Request("DELETE", SETTINGS))


@pytest.mark.core(1)
@BOTH
def test_plan_counts_and_explains_a_deletion(team, page, mode):
    begin(team, mode)
    plan = team.plan(config_map(a="2"), mode=mode)
    address = f"/reviews/{plan.review.number}/plans/{plan.number}/"

    overview, alone = read(page, address), read(page, link_alone(plan, 0))

    assert "1 to delete" in overview
    assert "its deletion only waits for example.com/hold, and this write removes it" in read(page, f"{address}risks/")
    assert "The object is deleted." in alone
    assert "to update" not in overview
    assert "badge-change" not in alone


@pytest.mark.core(1)
@BOTH
def test_requests_are_those_of_an_apply(team, page, mode):
    begin(team, mode)
    plan = team.plan(config_map(a="2"), mode=mode)

    text = read(page, link_alone(plan, 0, "requests"))

    assert "kubectl apply" in text
    assert "kubectl delete" not in text
    assert "PATCH" in text


@pytest.mark.core(1)
@BOTH
def test_run_says_that_the_object_is_deleted(team, page, mode):
    begin(team, mode)
    run = team.apply(config_map(a="2"), mode=mode)

    told = read(page, f"/runs/{run.number}/")

    assert "1 of 1 object deleted" in told
    assert "PATCH 200" in told
    assert "live differs" not in told
