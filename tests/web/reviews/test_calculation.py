"""The Requests view of an object: do people see how its patch is calculated, and what is requested in which order?"""

from __future__ import annotations

import json

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pane import requests
from tests.stories import SETTINGS, Team, config_map, secret
from tests.web.api.test_api import Program
from tests.web.reading import lines_of, read

pytestmark = pytest.mark.django_db
CLIENT = {"mode": ApplyMode.CLIENT}


def show(team: Team, plan: Plan, position: int = 0) -> str:
    """The Requests view of an object, as its author reads it, a line for each block."""
    client = Client()
    client.force_login(team.alice)
    address = link_alone(plan, position, "requests")
    return lines_of(read(client, address))


def holds(text: str, words: str) -> bool:
    """Whether a page has these words; addresses and paths may break anywhere."""
    return "".join(words.split()) in "".join(text.split())


def list_tab(team: Team, plan: Plan) -> str:
    client = Client()
    client.force_login(team.alice)
    return lines_of(read(client, reverse("reviews:show-requests", args=[plan.review.number, plan.number])))


def test_steps_of_a_three_way_patch_are_shown_with_their_inputs(team: Team) -> None:
    team.apply(config_map(a="1", b="1"), **CLIENT)

    text = show(team, team.plan(config_map(b="2"), **CLIENT))

    assert holds(text, "Calculation: Three-way strategic merge patch")
    for word in ("Last applied", "Manifest", "Live", "deletionsMap", "deltaMap", "patchMap"):
        assert word in text
    assert holds(text, "a: null null in a patch removes the field")
    assert holds(text, "It is set to the manifest as one line of JSON.")
    assert holds(text, "It is the body of the PATCH request below.")
    assert holds(text, "The plan adds uid · resourceVersion of the live object as preconditions.")


def test_reads_stand_before_the_write_with_their_answers(team: Team) -> None:
    created = team.plan(config_map(a="1"), **CLIENT)
    team.apply(config_map("other", a="1"), **CLIENT)
    updated = team.plan(config_map("other", a="2"), **CLIENT)

    new, old = show(team, created), show(team, updated)

    assert holds(new, f"GET {SETTINGS} 404 The object does not exist, so it is created.")
    assert holds(old, "200 The object exists, so PATCH follows.")
    assert holds(old, "If the server answers differently")
    assert holds(old, "Another client wrote the object.")
    assert holds(list_tab(team, created), f"GET 404 → POST {SETTINGS.rpartition('/')[0]}")
    assert holds(list_tab(team, updated), "GET 200 → PATCH")
    assert "First, 1 schema is read" in list_tab(team, updated)


def test_parameters_that_all_writes_share_are_printed_once(team: Team) -> None:
    text = list_tab(team, team.plan(config_map("a", a="1") + "---\n" + config_map("b", a="1"), mode=ApplyMode.SERVER))

    assert holds(text, "Each PATCH below has the parameters fieldManager=applyviz&fieldValidation=Strict&force=false")
    assert "Other parameters" not in text
    assert text.count("fieldManager") == 1
    assert holds(text, "Each request below: server-side apply of everything this manager sets")
    assert text.count("server-side apply of") == 1


def test_effects_that_differ_are_in_their_lines(team: Team) -> None:
    team.apply(config_map("a", a="1"), **CLIENT)
    text = list_tab(team, team.plan(config_map("a", a="2") + "---\n" + config_map("b", a="1"), **CLIENT))

    assert "Each request below" not in text
    assert holds(text, "changes only the fields in the body")
    assert holds(text, "creates the object")


def test_parameters_of_a_single_write_are_in_its_line(team: Team) -> None:
    text = list_tab(team, team.plan(config_map(a="1"), mode=ApplyMode.SERVER))

    assert "Each PATCH" not in text
    assert holds(text, "Parameters")
    assert text.count("fieldManager") == 1


def test_tab_without_bodies_prints_none(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[object] = []
    monkeypatch.setattr(requests, "render_yaml", lambda body: printed.append(body) or "")

    text = list_tab(team, team.plan(config_map("a", a="1") + "---\n" + config_map("b", a="1"), mode=ApplyMode.SERVER))

    assert "server-side apply of everything this manager sets" in text
    assert printed == []


def test_object_without_last_applied_says_that_nothing_is_deleted(team: Team) -> None:
    collection = SETTINGS.rpartition("/")[0]
    team.send(Request("POST", collection, content_type=JSON, body=yaml.safe_load(config_map(a="1"))))

    text = show(team, team.plan(config_map(a="2"), **CLIENT))

    assert holds(text, "The live object has no last-applied annotation, so nothing is deleted.")
    assert holds(text, "Nothing to delete.")


@pytest.mark.long
def test_unchanged_object_is_read_and_its_patch_is_empty(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)

    text = show(team, team.plan(config_map(a="1"), **CLIENT))

    assert holds(text, "The object exists. Nothing is sent.")
    for words in ("Nothing to delete.", "Nothing to add or set.", "It already is; it stays.", "so nothing is sent."):
        assert holds(text, words)


def test_server_side_shows_owners_before_and_after_and_what_is_given_up(team: Team) -> None:
    team.apply(config_map(a="1", b="1"), mode=ApplyMode.SERVER)

    text = show(team, team.plan(config_map(b="2"), mode=ApplyMode.SERVER))

    assert holds(text, "Calculation: Computed by the server")
    assert holds(text, "Field owners before The live set, from managedFields. applyviz (Apply): 2 fields")
    assert holds(text, "Fields sent The applied set: every field of the manifest. data.b")
    assert holds(text, "They are removed unless another manager owns them. data.a")
    assert holds(text, "Fields set Fields of the request with another value than live. data.b")
    assert holds(text, "Field owners after As the server stores them. applyviz (Apply): 1 field")


@pytest.mark.long
def test_server_side_names_conflicts_and_fields_that_stay(team: Team) -> None:
    team.apply(config_map(a="1", b="1"), mode=ApplyMode.SERVER)
    team.apply_as("other", config_map(a="1"))
    team.edit(SETTINGS, yaml.safe_load(config_map(a="1", b="5")))

    text = show(team, team.plan(config_map(b="2"), mode=ApplyMode.SERVER))

    assert holds(text, "data.a stays: owned by other (Apply)")
    assert holds(text, "Conflicts Fields of the request that another manager owns with another value. data.b")
    assert holds(text, "The PATCH is sent only after its conflicts are resolved.")
    assert holds(text, "Field owners after If every field in conflict keeps its live value.")


@pytest.mark.long
def test_patch_of_a_person_is_sent_as_written(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
    patch = {"kind": "Patch", "target": target, "type": "merge", "patch": {"data": {"a": "2"}}}

    text = show(team, team.plan(yaml.safe_dump(patch), action=SetAction.PATCH))

    assert holds(text, "The patch as written")
    assert holds(text, "Each field replaces the one in live, lists entirely; null removes a field.")


@pytest.mark.long
def test_deletion_is_read_until_it_is_gone(team: Team) -> None:
    team.apply(config_map(a="1"), **CLIENT)

    text = show(team, team.plan(config_map(a="1"), action=SetAction.DELETE))

    assert holds(text, "200 The object exists, so DELETE follows.")
    assert holds(list_tab(team, Plan.objects.latest("pk")), "404 Repeated until")
    assert holds(text, "404 Repeated until the object is gone, or the deadline passes.")
    assert "Calculation:" not in text


def test_values_of_secrets_are_masked_in_the_steps(team: Team) -> None:
    team.apply(secret(password="s3cret-old", old="s3cret-gone"), **CLIENT)

    text = show(team, team.plan(secret(password="s3cret-new"), **CLIENT))

    assert holds(text, "deltaMap")
    for value in ("s3cret-old", "s3cret-gone", "s3cret-new", "czNjcmV0"):
        assert value not in text


def test_programs_get_the_three_maps_and_the_requests(team: Team) -> None:
    team.apply(config_map(a="1", b="1"), **CLIENT)
    plan = team.plan(config_map(b="2"), **CLIENT)

    (one,) = Program(team.alice).get(f"reviews/{plan.review.number}/plans/1/").json()["objects"]

    calculation = one["calculation"]
    assert calculation["deletionsMap"] == {"data": {"a": None}}
    assert calculation["deltaMap"] == {"data": {"b": "2"}}
    assert calculation["setsAnnotation"] is True
    assert calculation["patchMap"]["data"] == {"a": None, "b": "2"}
    annotations = calculation["patchMap"]["metadata"]["annotations"]
    assert json.loads(annotations["kubectl.kubernetes.io/last-applied-configuration"])["data"] == {"b": "2"}
    assert one["requests"][-2:] == [
        {"purpose": "read", "method": "GET", "path": SETTINGS, "status": 200},
        {"purpose": "write", "method": "PATCH", "path": SETTINGS},
    ]


def test_programs_get_no_maps_without_a_patch(team: Team) -> None:
    plan = team.plan(config_map(a="1"), **CLIENT)

    (one,) = Program(team.alice).get(f"reviews/{plan.review.number}/plans/1/").json()["objects"]

    assert one["calculation"] is None
    assert [(r["method"], r.get("status")) for r in one["requests"]][-2:] == [("GET", 404), ("POST", None)]
