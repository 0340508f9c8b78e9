"""Reading, writing and asking managedFields."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields, key
from applyviz.engine.ownership.managed_fields import decode, encode, find_entries, read_owners


def make_entry(manager, owned, **more):
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned}
    return {**entry, **more}


def make_object(*entries):
    return {"metadata": {"managedFields": list(entries)}}


def test_owner_of_an_atomic_value_owns_that_value_as_one_field():
    obj = make_object(
        make_entry("alice", {"f:spec": {"f:selector": {}}}), make_entry("bob", {"f:spec": {"f:type": {}}})
    )

    owners = read_owners(obj)

    assert [o.manager for o in owners.of(fields("spec", "selector"))] == ["alice"]
    assert owners.of(fields("spec")) == ()


@pytest.mark.parametrize("alone", [{}, {".": {}}])
def test_owner_of_a_map_does_not_own_the_fields_in_it(alone):
    mine = {"f:metadata": {"f:annotations": {".": {}, "f:team": {}}}}
    obj = make_object(make_entry("kubectl", {"f:metadata": {"f:annotations": alone}}), make_entry("alice", mine))
    team, nobodys, both = (fields("metadata", "annotations", *more) for more in (("team",), ("stage",), ()))

    owners = read_owners(obj)
    below = owners.start(owners).enter("f:metadata").enter("f:annotations")

    assert [o.manager for o in owners.of(team)] == ["alice"]
    assert owners.of(nobodys) == ()
    assert [o.manager for o in owners.of(both)] == ["kubectl", "alice"]
    assert below.of("f:team") == (owners.of(team), owners.of(team))
    assert below.of("f:stage") == ((), ())
    assert below.enter("f:stage").of("f:deeper") == ((), ())


def test_owners_of_an_item_do_not_own_all_its_fields():
    item = key({"name": "web"})
    obj = make_object(make_entry("alice", {"f:containers": {item: {".": {}, "f:image": {}}}}))

    owners = read_owners(obj)

    assert [o.manager for o in owners.of(("f:containers", item))] == ["alice"]
    assert owners.of(("f:containers", item, "f:command")) == ()


def test_owner_carries_operation_version_subresource_and_time():
    raw = make_entry("hpa", {"f:spec": {}}, operation="Update", subresource="scale", time="2026-01-01T02:00:00+02:00")

    owners = read_owners(make_object(raw))

    assert owners.of(fields("spec")) == (Owner("hpa", "Update", "v1", "scale", "2026-01-01T00:00:00Z"),)


def test_unreadable_entry_is_left_out_of_owners():
    obj = make_object(make_entry("alice", {"v:": {}}), make_entry("bob", {"f:data": {}}))

    assert [e.owner.manager for e in read_owners(obj).entries] == ["bob"]


@pytest.mark.parametrize("raw", [None, "x", [1], [{"manager": 5}], [{"time": "yesterday"}], [{"time": 5}]])
def test_what_is_no_list_of_entries_counts_as_absent(raw):
    assert find_entries({"metadata": {"managedFields": raw}}) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"operation": ""}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": ""}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 0'),
    ],
)
def test_entry_that_breaks_a_rule_is_an_error(change, reason):
    with pytest.raises(OwnershipError) as caught:
        decode([make_entry("alice", {}, **change)])

    assert caught.value.reason == reason


def test_broken_fields_name_the_entry():
    with pytest.raises(OwnershipError) as caught:
        decode([make_entry("alice", {"x": {}}, time="2026-01-01T00:00:00Z")])

    assert caught.value.reason.startswith(
        'error decoding versioned set from {alice Apply v1 2026-01-01 00:00:00 +0000 UTC FieldsV1 {"x":{}} }: '
    )


def test_entries_are_ordered_by_operation_time_and_manager():
    entries = [
        make_entry("z", {"f:a": {}}, operation="Update", time="2026-01-01T00:00:00Z"),
        make_entry("b", {"f:a": {}}, time="2026-01-02T00:00:00Z"),
        make_entry("a", {"f:a": {}}, time="2026-01-02T00:00:00Z"),
        make_entry("y", {"f:a": {}}),
    ]

    assert [e["manager"] for e in encode(decode(entries))] == ["y", "a", "b", "z"]
