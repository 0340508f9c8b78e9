"""Labels that repeat a value of their object are masked like annotations, in every form that fits in a label.

A label of a live object is not compared with live values: a person who can write it would learn
whether a guess is right.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from applyviz.engine.diff.masking import is_masked, mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import PlanState
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import World
from tests.attacks.test_password_fields import CANARY, find_shown
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SECRET = GroupVersionKind("", "v1", "Secret")
SHORT = "fx7q"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "a part": lambda value: f"v-{value}-1",
    "backwards": lambda value: value[::-1],
    "hex": lambda value: value.encode().hex(),
    "capital hex": lambda value: value.encode().hex().upper(),
    "base64": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "base32": lambda value: base64.b32encode(value.encode()).decode().rstrip("="),
    "small base32": lambda value: base64.b32encode(value.encode()).decode().rstrip("=").lower(),
}


def write(value: str, label: str, name: str = "login") -> dict[str, Any]:
    metadata = {"name": name, "labels": {"app": name, "tier": "backend", "note": label}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"opening": value}}


@pytest.mark.parametrize("holder", ["stringData", "data"])
@pytest.mark.parametrize("value", [SHORT, "fx7qz", "fx7qz0", CANARY])
@pytest.mark.parametrize("form", FORMS)
def test_a_label_that_repeats_a_value_is_masked(form: str, value: str, holder: str) -> None:
    label = FORMS[form](value)
    obj = write(value, label)
    if holder == "data":
        obj["data"] = {"opening": base64.b64encode(obj.pop("stringData")["opening"].encode()).decode()}
    operations = [{"op": "add", "path": "/metadata/labels/note", "value": label}]
    operations += [{"op": "add", "path": f"/{holder}", "value": obj[holder]}]
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(obj)}

    shown = [
        mask(obj, gvk=SECRET, tag_key=b"k"),
        mask({"kind": "List", "items": [obj]}, gvk=GroupVersionKind("", "v1", "List"), tag_key=b"k"),
        mask({"metadata": {"annotations": applied}}, gvk=SECRET, tag_key=b"k"),
        mask_patch(obj, MERGE_PATCH, gvk=SECRET, tag_key=b"k"),
        mask_patch(operations, JSON_PATCH, gvk=SECRET, tag_key=b"k"),
    ]

    assert [number for number, one in enumerate(shown) if label in json.dumps(one)] == []
    assert shown[0]["metadata"]["labels"] | {"note": ""} == {"app": "login", "tier": "backend", "note": ""}


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_no_page_shows_it(team: Team, mode: ApplyMode, step: int) -> None:
    first = team.apply(yaml.safe_dump(write(CANARY, CANARY)), mode=mode)
    assert first.state == "applied", first.error
    plans = [first.plan, team.plan(yaml.safe_dump(write("another-one", "other")), mode=mode)]
    assert {plan.state for plan in plans} == {PlanState.COMPLETE}

    assert find_shown(World(team, [*plans, plans[0]], [first]), 7, step) == []
    assert find_leaks(CANARY) == []


@pytest.mark.parametrize("label", [CANARY, "another-one"])
def test_a_label_that_only_live_has_answers_no_guess(team: Team, label: str) -> None:
    manifest = write(CANARY, "v1")
    assert team.apply(yaml.safe_dump(manifest)).state == "applied"
    body = {"metadata": {"labels": {"guess": label}}}
    path = "/api/v1/namespaces/default/secrets/login"
    team.send(Request("PATCH", path, {"fieldManager": "other"}, MERGE_PATCH, body))

    plan = team.plan(yaml.safe_dump(write("next-value-1", "v1")))

    found = json.dumps([row.document for row in plan.changes.all()])
    assert (label in found, '"backend"' in found) == (False, True)
    assert find_leaks(CANARY) == []


def test_what_the_name_of_the_object_shows_is_no_copy() -> None:
    obj = write("inventory", "inventory", name="inventory-login")

    shown = mask(obj, gvk=SECRET, tag_key=b"k")

    assert shown["metadata"] == obj["metadata"]
    assert is_masked(shown)


def test_names_of_labels_and_annotations_are_shown() -> None:
    """They are the paths of fields: of a patch, of owners, of each row."""
    obj = write(CANARY, "v1")
    obj["metadata"] |= {"labels": {CANARY: "a"}, "annotations": {f"{CANARY}/x": "b"}}

    assert mask(obj, gvk=SECRET, tag_key=b"k")["metadata"] == obj["metadata"]
