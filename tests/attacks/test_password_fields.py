"""A field that a CustomResourceDefinition calls a password is masked as the values of Secrets are, wherever it is.

The definition comes with the manifests, or is in the cluster; one that says less does not unmask what the other names.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.password_fields import list_passwords
from applyviz.records.enums import PlanState
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.plans import comparisons, guess_limit
from tests.attacks.answers import read_words, share
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import READ, World, make_token
from tests.builders import make_person
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "q7Rz0xWv-canary"
BACKUP = GroupVersionKind("example.com", "v1", "Backup")
TEXT: dict[str, Any] = {"type": "string"}
HIDDEN: dict[str, Any] = {"type": "string", "format": "password"}


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def lists(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def maps(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


SPEC = objects(
    plain=TEXT,
    opening=HIDDEN,
    lines=lists(HIDDEN),
    users=lists(objects(name=TEXT, phrase=HIDDEN)),
    stores=maps(objects(word=HIDDEN)),
    words=maps(HIDDEN),
    deep=objects(deeper=lists(maps(lists(objects(one=HIDDEN))))),
    combined={**objects(inner=TEXT), "anyOf": [{"properties": {"inner": {"format": "password"}}}]},
)
# Where the value is written, and what the schema of the kind says there.
PLACES: dict[str, Any] = {
    "field": {"opening": CANARY},
    "list": {"lines": ["first-line", CANARY]},
    "field of a list": {"users": [{"name": "a", "phrase": CANARY}]},
    "field of a map": {"stores": {"main": {"word": CANARY}}},
    "map": {"words": {"main": CANARY}},
    "at any depth": {"deep": {"deeper": [{"a": [{"one": CANARY}]}]}},
    "combined schemas": {"combined": {"inner": CANARY}},
    "another type than declared": {"opening": {"value": [CANARY]}},
    "another case": {"Opening": CANARY},
}
ACCEPTED = [name for name in PLACES if not name.startswith("another")]


def define(spec: dict[str, Any] = SPEC) -> dict[str, Any]:
    schema = {"openAPIV3Schema": objects(spec=spec)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Backup", "plural": "backups", "singular": "backup", "listKind": "BackupList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def write(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Backup",
        "metadata": {"name": "nightly", **metadata},
        "spec": {"plain": "shown", **spec},
    }


def find_shown(world: World, part: int = 0, step: int = 1) -> list[str]:
    """The addresses whose answers hold the value, for people and for programs; one of `step` is read, by the part."""
    client, token = Client(), make_token(make_person("reader", "viewer"))
    client.force_login(world.team.alice)
    found = []
    every = ((name, address) for name, list_addresses in READ.items() for address in list_addresses(world))
    for name, address in share(every, part, step):
        given = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if name.startswith("api:") else {}
        found += [address] if CANARY[:8] in "\n".join(read_words(client.get(address, **given))) else []
    return found


def policy_of(spec: dict[str, Any] = SPEC) -> MaskPolicy:
    paths = list_passwords(CRDSource([define(spec)]).find_kind(BACKUP))
    return MaskPolicy(passwords=Passwords((KindPasswords("example.com", "Backup", paths),)))


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("place", PLACES)
def test_no_page_shows_it_beside_its_definition(team: Team, place: str, mode: ApplyMode, step: int) -> None:
    plan = team.plan(yaml.safe_dump_all([define(), write(PLACES[place])]), mode=mode)
    assert plan.state == PlanState.COMPLETE, plan.error

    assert find_shown(World(team, [plan, plan, plan]), 0, step) == []
    assert find_leaks(CANARY) == []


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("place", ACCEPTED)
def test_nothing_shows_it_once_it_is_applied(team: Team, place: str, mode: ApplyMode, step: int) -> None:
    """Plans, runs, journal, answers, last-applied, and the next plan, whose definition names no passwords."""
    assert team.apply(yaml.safe_dump(define())).state == "applied"
    run = team.apply(yaml.safe_dump(write(PLACES[place])), mode=mode)
    assert run.state == "applied", run.error
    opened = json.loads(json.dumps(SPEC).replace(', "format": "password"', "").replace('"format": "password"', ""))
    assert "password" not in json.dumps(opened)
    second = team.plan(yaml.safe_dump_all([define(opened), write({"plain": "other"})]), mode=mode)
    third = team.plan(yaml.safe_dump(write({"plain": "third"})), action=SetAction.DELETE)
    assert {second.state, third.state} == {PlanState.COMPLETE}

    assert find_shown(World(team, [run.plan, second, third], [run]), 1, step) == []
    assert find_leaks(CANARY) == []


@pytest.mark.parametrize("place", PLACES)
def test_every_form_of_the_object_is_masked(place: str) -> None:
    obj, policy = write(PLACES[place]), policy_of()
    text, spec = json.dumps(obj), obj["spec"]
    annotated = write({}, annotations={"kubectl.kubernetes.io/last-applied-configuration": text, "note": text})
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"json": text, "yaml": yaml.safe_dump(obj)}}
    nested = {"apiVersion": "v1", "kind": "Composition", "spec": {"resources": [{"base": obj}]}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [obj]}
    other = GroupVersionKind("", "v1", "ConfigMap")
    operations = [{"op": "add", "path": f"/spec/{name}", "value": value} for name, value in spec.items()]
    shown = [
        mask(obj, gvk=BACKUP, tag_key=b"k", policy=policy),
        mask({"spec": spec}, gvk=BACKUP, tag_key=b"k", policy=policy),
        mask(annotated, gvk=BACKUP, tag_key=b"k", policy=policy),
        mask(config_map, gvk=other, tag_key=b"k", policy=policy),
        mask(nested, gvk=other, tag_key=b"k", policy=policy),
        mask(listed, gvk=other, tag_key=b"k", policy=policy),
        mask_patch({"spec": spec}, MERGE_PATCH, gvk=BACKUP, tag_key=b"k", policy=policy),
        mask_patch(operations, JSON_PATCH, gvk=BACKUP, tag_key=b"k", policy=policy),
    ]

    assert [number for number, one in enumerate(shown) if CANARY[:8] in json.dumps(one)] == []
    assert all(map(is_masked, shown))
    assert all("shown" in json.dumps(one) for one in (*shown[:2], shown[4], shown[5]))


def test_an_entry_that_a_json_patch_names_is_masked() -> None:
    operations = [
        {"op": "replace", "path": "/spec/users/0/phrase", "value": CANARY},
        {"op": "add", "path": "/spec/users/-", "value": {"name": "b", "phrase": CANARY}},
        {"op": "test", "path": "/spec/lines/3", "value": CANARY},
        {"op": "add", "path": "/spec/stores/a~1b/word", "value": CANARY},
        {"op": "add", "path": "/spec/plain", "value": "shown"},
    ]

    shown = mask_patch(operations, JSON_PATCH, gvk=BACKUP, tag_key=b"k", policy=policy_of())

    assert CANARY[:8] not in json.dumps(shown)
    assert (shown[1]["value"]["name"], shown[4]["value"]) == ("b", "shown")


def test_a_copy_of_it_in_an_annotation_is_masked() -> None:
    obj = write({"opening": CANARY}, annotations={"note": f"it is {CANARY}", "owner": "backup-team"})

    shown = mask(obj, gvk=BACKUP, tag_key=b"k", policy=policy_of())

    assert CANARY[:8] not in json.dumps(shown)
    assert shown["metadata"]["annotations"]["owner"] == "backup-team"


def test_a_comparison_of_plans_masks_the_kinds_of_both(team: Team) -> None:
    """The second plan does not name the object, so it does not know that its kind has passwords."""
    assert team.apply(yaml.safe_dump(define())).state == "applied"
    first = team.plan(yaml.safe_dump(write({"opening": CANARY})))
    second = team.plan(yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}))

    assert CANARY[:8] not in json.dumps(comparisons.compare_secrets(first, second))


@pytest.mark.parametrize("setting", ["built-in list", "names", "paths"])
def test_a_comparison_of_plans_keeps_the_settings_of_both(team: Team, settings: Any, setting: str) -> None:
    """Masking of plain credentials was switched off after the first plan: what that plan masks stays masked."""
    names = {"built-in list": "DB_PASSWORD", "names": "MODE_OF_OURS", "paths": "a"}
    settings.APPLYVIZ_MASK_NAMES = ["*_OF_OURS"] if setting == "names" else []
    settings.APPLYVIZ_MASK_PATHS = ["data.a"] if setting == "paths" else []

    def write_map(value: str) -> str:
        metadata = {"name": "settings"}
        data = {names[setting]: value}
        return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    first = team.plan(write_map(CANARY))
    settings.APPLYVIZ_MASK_NAMES, settings.APPLYVIZ_MASK_PATHS = [], []
    masking_settings.mask_credentials(team.cluster, is_on=False, by=None)
    second = team.plan(write_map("another-value-1"))

    for pair in ((first, second), (second, first)):
        found = json.dumps(comparisons.compare_secrets(*pair))
        assert (len(found) > 10, CANARY[:8] in found) == (True, False)


def test_guesses_of_it_are_counted(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guess_limit, "MOST_A_DAY", 2)
    made = [team.plan(yaml.safe_dump_all([define(), write({"opening": f"guess-{n}-number"})])) for n in range(3)]

    assert [plan.state for plan in made] == [PlanState.COMPLETE, PlanState.COMPLETE, PlanState.FAILED]


def test_adoption_masks_it(team: Team) -> None:
    assert team.apply(yaml.safe_dump(define())).state == "applied"
    assert team.apply(yaml.safe_dump(write({"users": [{"name": "a", "phrase": CANARY}]}))).state == "applied"
    client = Client()
    client.force_login(team.alice)

    page = client.get(reverse("clusters:adopt-object", args=["box", "example.com", "Backup", "default", "nightly"]))

    assert page.status_code == 200
    assert CANARY[:8] not in page.content.decode()


@pytest.mark.core(2)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("place", ["field", "field of a list", "another case"])
def test_the_playground_masks_it(client: Client, place: str, mode: ApplyMode) -> None:
    given = {
        "mode": mode.value,
        "field_manager": "shop",
        "manifest": yaml.safe_dump(write(PLACES[place])),
        "live": yaml.safe_dump(write({"plain": "before", **PLACES[place]})),
        "crds": yaml.safe_dump(define()),
    }
    answer = client.post(reverse("playground:ask"), given)

    assert answer.status_code == 302, answer.content.decode()[:2000]
    page = client.get(answer.headers["Location"].partition("#")[0])
    assert page.status_code == 200
    assert CANARY[:8] not in page.content.decode()
    assert find_leaks(CANARY) == []


def test_a_field_that_is_no_password_is_shown(team: Team) -> None:
    plan = team.plan(yaml.safe_dump_all([define(), write({"users": [{"name": "someone", "phrase": CANARY}]})]))
    text = json.dumps([row.document for row in plan.changes.all()])

    assert "someone" in text
    assert "shown" in text
