"""Conflicts in the API: both values, who owns the field, and whether the values are equal."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from tests.stories import config_map
from tests.web.api.test_api import body, make

pytestmark = pytest.mark.django_db


def test_conflict_high_risks_and_blockers_are_told(team, program):
    team.apply_as("somebody", config_map(a="1"))
    program.post("reviews/", body(config_map(a="2"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n"))
    make()

    told = program.get("reviews/1/").json()

    assert (told["status"], told["counts"]["conflicts"]) == ("blocked", 1)
    assert told["risks"] == {"namespace": 1}
    assert told["blockers"][0] == "1 object with unresolved conflicts"
    refused = next(o for o in told["objects"] if o["operation"] == "blocked")
    (conflict,) = refused["conflicts"]
    assert conflict == {
        "field": ".data.a",
        "field_manager": "somebody",
        "operation": "Apply",
        "subresource": "",
        "manifest": '"2"',
        "live": '"1"',
        "is_equal": False,
    }


def test_conflict_names_one_amount_in_two_spellings(team, program):
    head = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: "
        "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: CPU}}}]}}}\n"
    )
    path = "/apis/apps/v1/namespaces/default/deployments/d"
    made = yaml.safe_load(head.replace("CPU", "'1'"))
    assert team.send(Request("PATCH", path, {"fieldManager": "somebody"}, APPLY_PATCH, made)).is_ok
    program.post("reviews/", body(head.replace("CPU", "1000m")))
    make()

    (told,) = program.get("reviews/1/").json()["objects"]

    (conflict,) = told["conflicts"]
    assert (conflict["manifest"], conflict["live"], conflict["is_equal"]) == ("1000m", '"1"', True)
