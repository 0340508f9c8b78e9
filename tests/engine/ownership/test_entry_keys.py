"""A manager that gets a field of a list entry also owns the entry and its keys, until it owns nothing else in it."""

from __future__ import annotations

from applyviz.engine.ownership import client_side

WEB, ENV = 'k:{"name":"web"}', 'k:{"name":"A"}'
PATH = ("f:spec", "f:containers", WEB, "f:env", ENV, "f:value")
KEYS = {".": {}, "f:name": {}}


def make_entry(manager, container):
    fields = {"f:spec": {"f:containers": {WEB: container}}}
    return {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}


def show(entries):
    return {one["manager"]: one["fieldsV1"]["f:spec"]["f:containers"][WEB] for one in entries}


OWNED = {**KEYS, "f:image": {}, "f:env": {ENV: {**KEYS, "f:value": {}}}}
GIVEN = {**KEYS, "f:env": {ENV: {**KEYS, "f:value": {}}}}


def hand_over():
    return client_side.hand_over([make_entry("first", OWNED)], manager="first", path=PATH, to="second")


def test_field_goes_with_the_entries_that_it_is_in_and_their_keys():
    assert show(hand_over()) == {"first": OWNED, "second": GIVEN}


def test_keys_that_a_manager_does_not_write_are_not_given():
    entry = 'k:{"containerPort":80,"protocol":"TCP"}'
    ports = {"f:ports": {entry: {".": {}, "f:containerPort": {}, "f:name": {}}}}
    path = (*PATH[:3], "f:ports", entry, "f:name")

    found = client_side.hand_over([make_entry("first", {**KEYS, **ports})], manager="first", path=path, to="second")

    assert show(found)["second"] == {**KEYS, **ports}


def test_taken_field_leaves_no_entries_behind_of_which_only_keys_are_left():
    found = client_side.take_fields(hand_over(), manager="first", taken=[(PATH, "second")])

    assert show(found) == {"first": OWNED}


def test_others_own_a_field_or_what_is_below_it():
    through_scale = {**make_entry("scaler", OWNED), "subresource": "scale"}
    live = {"metadata": {"managedFields": [make_entry("first", OWNED), make_entry("second", GIVEN), through_scale]}}

    for path in (PATH, PATH[:4]):
        assert client_side.list_others(live, path, manager="first") == ("second",)
    assert client_side.list_others(live, (*PATH[:3], "f:image"), manager="first") == ()


def test_entry_with_another_field_stays_with_its_owner():
    entries = [make_entry("second", {**GIVEN, "f:args": {}}), make_entry("first", OWNED)]

    found = client_side.take_fields(entries, manager="first", taken=[(PATH, "second")])

    assert show(found) == {"first": OWNED, "second": {**KEYS, "f:args": {}}}


def test_entry_that_nobody_owns_itself_goes_with_its_keys():
    rest = {"f:env": {ENV: {"f:name": {}, "f:value": {}}}}

    found = client_side.take_fields([make_entry("second", {**KEYS, **rest})], manager="first", taken=[(PATH, "second")])

    assert show(found) == {"first": {**KEYS, **rest}}
