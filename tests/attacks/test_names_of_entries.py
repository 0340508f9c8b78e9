"""The names of list entries hold their values: they are masked wherever the values are, in managedFields and paths."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from applyviz.engine.diff.masking import DEFAULT_POLICY, MaskPolicy, is_masked, mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.requests.options import ApplyMode
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import World
from tests.attacks.test_password_fields import (
    BACKUP,
    CANARY,
    HIDDEN,
    TEXT,
    define,
    find_shown,
    objects,
    policy_of,
    write,
)
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SPEC = objects(
    plain=TEXT,
    lines={"type": "array", "items": HIDDEN, "x-kubernetes-list-type": "set"},
    users={
        "type": "array",
        "items": {**objects(phrase=HIDDEN, role=TEXT), "required": ["phrase"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["phrase"],
    },
)
ENTRIES: dict[str, Any] = {
    "set": {"lines": [CANARY, "other-line"]},
    "key of a map": {"users": [{"phrase": CANARY, "role": "a"}]},
}


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("entries", ENTRIES)
def test_nothing_shows_the_name_of_a_masked_entry(team: Team, entries: str, mode: ApplyMode, step: int) -> None:
    assert team.apply(yaml.safe_dump(define(SPEC))).state == "applied"
    run = team.apply(yaml.safe_dump(write(ENTRIES[entries])), mode=mode)
    assert run.state == "applied", run.error
    other = json.loads(json.dumps(ENTRIES[entries]).replace('"a"', '"b"').replace("other-line", "third-line"))
    second = team.plan(yaml.safe_dump(write(other)), mode=mode)
    third = team.plan(yaml.safe_dump(write({"plain": "third"})), mode=mode)

    assert find_shown(World(team, [run.plan, second, third], [run]), 2, step) == []
    assert find_leaks(CANARY) == []


SECRET = GroupVersionKind("", "v1", "Secret")
POD = GroupVersionKind("", "v1", "Pod")
NAMED = MaskPolicy(paths=("spec.notes.*",))
KEY = f'k:{{"phrase":"{CANARY}"}}'
# A kind, what is masked besides, and the names of its fields.
OWNED: dict[str, tuple[GroupVersionKind, MaskPolicy, dict[str, Any]]] = {
    "set of passwords": (BACKUP, policy_of(SPEC), {"f:spec": {"f:lines": {f'v:"{CANARY}"': {}}}}),
    "key that is a password": (BACKUP, policy_of(SPEC), {"f:spec": {"f:users": {KEY: {".": {}, "f:role": {}}}}}),
    "unknown field of a Secret": (SECRET, DEFAULT_POLICY, {"f:words": {f'v:"{CANARY}"': {}}}),
    "map of a Secret": (SECRET, DEFAULT_POLICY, {"f:stringdata": {"f:pin": {f"f:{CANARY}": {}}}}),
    "field that is named": (BACKUP, NAMED, {"f:spec": {"f:notes": {f'v:"{CANARY}"': {}}}}),
    "list of credentials": (BACKUP, DEFAULT_POLICY, {"f:spec": {"f:passwords": {f'v:"{CANARY}"': {}}}}),
    "shape of a credential": (POD, DEFAULT_POLICY, {"f:spec": {"f:notes": {f'v:"password={CANARY}"': {}}}}),
    "no list of an object": (BACKUP, policy_of(SPEC), {"f:spec": {"f:a": {}, f'v:"{CANARY}"': {}}}),
    "keys that are no keys": (BACKUP, policy_of(SPEC), {"f:spec": {"f:users": {f'k:"{CANARY}"': {}}}}),
}


def own(names: dict[str, Any], gvk: GroupVersionKind) -> dict[str, Any]:
    owner = {"manager": "shop", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": names}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": "a", "managedFields": [owner]}}


@pytest.mark.parametrize("case", OWNED)
def test_managed_fields_show_no_masked_name(case: str) -> None:
    gvk, policy, names = OWNED[case]
    obj = own({**names, "f:metadata": {"f:labels": {"f:app": {}}}}, gvk)
    text = json.dumps(obj)
    nested = {"apiVersion": "v1", "kind": "Composition", "spec": {"resources": [{"base": obj}]}}
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"note": text}}}
    shown = [
        mask(obj, gvk=gvk, tag_key=b"k", policy=policy),
        mask(obj, gvk=gvk, tag_key=b"k", policy=policy, is_live=True),
        mask_patch(obj, MERGE_PATCH, gvk=gvk, tag_key=b"k", policy=policy),
        *([] if policy is NAMED else [mask(one, gvk=POD, tag_key=b"k", policy=policy) for one in (nested, note)]),
    ]

    assert [number for number, one in enumerate(shown) if CANARY[:8] in json.dumps(one)] == []
    assert all(map(is_masked, shown))
    assert all("f:app" in json.dumps(one) for one in shown)


def test_names_of_plain_entries_are_shown_as_they_are() -> None:
    ports = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}, "i:3": {}}
    container = {'k:{"name":"web"}': {".": {}, "f:image": {}, "f:env": {'k:{"name":"PASSWORD"}': {"f:value": {}}}}}
    names = {
        "f:metadata": {"f:finalizers": {".": {}, 'v:"example.com/guard"': {}}},
        "f:spec": {"f:containers": container, "f:ports": ports},
    }

    assert mask(own(names, POD), gvk=POD, tag_key=b"k")["metadata"]["managedFields"][0]["fieldsV1"] == names


def test_the_order_of_names_says_nothing_of_a_masked_one() -> None:
    for key in (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"):
        names = {"f:spec": {"f:lines": {f'v:"{word}"': {} for word in ("alpha", "beta", "gamma")}}}
        obj = mask(own(names, BACKUP), gvk=BACKUP, tag_key=key, policy=policy_of(SPEC))
        shown = list(obj["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:lines"])

        assert shown == sorted(shown)
