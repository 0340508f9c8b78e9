"""Does a digest say what would happen, and nothing that varies by itself?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import effect, find_difference, list_differences
from applyviz.engine.planning.digest.fingerprint import digest_effect, digest_plan
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

KEY = b"k" * 32
OPTIONS = [ApplyOptions(), ApplyOptions(mode=ApplyMode.CLIENT)]
BEFORE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
AFTER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '2'}\n"
PATH = "/api/v1/namespaces/default/configmaps/a"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"


def digest(plan, **more):
    return digest_plan(plan, **{"key": KEY, "target": "t", "identity": "i", **more})


def touch(box: Box, patch: dict, manager: str = "other") -> None:
    query = {"fieldManager": manager}
    answer = box.sandbox.handle(Request("PATCH", PATH, query, "application/merge-patch+json", patch))
    assert answer.is_ok, answer


@pytest.mark.parametrize("options", OPTIONS)
def test_same_plan_has_the_same_digest(options):
    box = Box()
    box.apply(BEFORE, options)

    assert digest(box.plan(AFTER, options)) == digest(box.plan(AFTER, options))


@pytest.mark.parametrize("options", OPTIONS)
def test_write_elsewhere_in_the_object_does_not_count(options):
    box = Box()
    box.apply(BEFORE, options)
    before = digest(box.plan(AFTER, options))

    touch(box, {"metadata": {"labels": {"by": "others"}}})

    assert digest(box.plan(AFTER, options)) == before


@pytest.mark.parametrize("field", ["annotations", "labels"])
@pytest.mark.parametrize("options", OPTIONS)
def test_first_entry_of_a_map_that_others_share_does_not_count(options, field):
    """Whoever writes it makes the map, and the server marks the map as theirs: no entry of the plan is touched."""
    after = AFTER.replace("{name: a}", "{name: a, labels: {app: a}, annotations: {app: a}}")
    box = Box()
    box.apply(BEFORE, ApplyOptions())
    before = digest(box.plan(after, options))

    touch(box, {"metadata": {field: {"by": "others"}}})

    assert digest(box.plan(after, options)) == before


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, {"f:metadata": {"f:labels": {"f:a": {}}}}),
        ({"f:data": {".": {}, "f:x": {}}}, {"f:data": {".": {}, "f:x": {}}}),
        ({"f:metadata": {"f:name": None}}, {"f:metadata": {"f:name": None}}),
        ({"f:metadata": None}, {"f:metadata": None}),
        (None, None),
    ],
)
def test_who_made_a_map_counts_where_nobody_else_writes(fields, shown):
    change = Box().plan_one(BEFORE)
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields}
    live = {"metadata": {"name": "a", "managedFields": [entry]}}
    versions = replace(change.versions, live=live, merged=None, after={"metadata": {"name": "a"}})
    found = find_difference(replace(change, operation=Operation.UPDATE, versions=versions))

    ((path, before, _),) = found
    assert (path, list(before.values())) == (("metadata", "managedFields"), [shown])


def test_entries_of_one_name_count_as_they_are():
    change = Box().plan_one(BEFORE)
    entries = [{"manager": "m", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}] * 2
    live = {"metadata": {"name": "a", "managedFields": entries}}
    versions = replace(change.versions, live=live, merged=None, after={"metadata": {"name": "a"}})
    found = find_difference(replace(change, operation=Operation.UPDATE, versions=versions))

    assert [before for _, before, _ in found] == [entries]


@pytest.mark.parametrize("options", OPTIONS)
def test_write_to_a_field_that_the_plan_touches_counts(options):
    box = Box()
    box.apply(BEFORE, options)
    before = digest(box.plan(AFTER, options))

    touch(box, {"data": {"x": "7"}})

    assert digest(box.plan(AFTER, options)) != before


@pytest.mark.parametrize("options", OPTIONS)
def test_object_made_anew_under_the_same_name_counts(options):
    box = Box()
    box.apply(BEFORE, options)
    before = digest(box.plan(AFTER, options))

    box.sandbox.handle(Request("DELETE", PATH))
    box.apply(BEFORE, options)

    assert digest(box.plan(AFTER, options)) != before


@pytest.mark.parametrize("options", OPTIONS)
def test_addresses_that_a_server_allots_do_not_count(options):
    box = Box()

    assert digest(box.plan(SERVICE, options)) == digest(box.plan(SERVICE, options))


def test_certainty_does_not_count():
    box = Box()
    box.apply(BEFORE)

    (confirmed,) = box.plan(AFTER).changes
    (calculated,) = box.plan(AFTER, can_dry_run=False).changes

    assert digest_effect(confirmed, key=KEY) == digest_effect(calculated, key=KEY)


@pytest.mark.parametrize("part", ["target", "identity", "policy_version", "policy_digest", "review", "decisions"])
def test_what_an_approval_is_given_for_counts(part):
    plan = Box().plan(BEFORE)

    assert digest(plan, **{part: "other"}) != digest(plan)


def test_options_and_key_count():
    plan = Box().plan(BEFORE)

    assert digest(replace(plan, options=ApplyOptions(field_manager="x"))) != digest(plan)
    assert digest(plan, key=b"x" * 32) != digest(plan)


def test_effect_names_what_changes_by_path():
    box = Box()
    box.apply(BEFORE)

    (change,) = box.plan(AFTER).changes

    found = effect(change)
    assert found["object"] == ["", "v1", "ConfigMap", "default", "a"]
    assert found["difference"] == [{"path": ["data", "x"], "before": "1", "after": "2"}]
    assert found["requests"][0]["body"]["metadata"]["resourceVersion"] is None


def test_ignored_field_counts_when_the_manifest_names_it():
    box = Box()
    box.apply(BEFORE)

    (change,) = box.plan(AFTER).changes

    assert [p for p, _, _ in find_difference(change, ignore=[("data", "*")])] == [("data", "x")]
    other = replace(change, versions=replace(change.versions, manifest={"metadata": {"name": "a"}}))
    assert list(find_difference(other, ignore=[("data", "*")])) == []


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("a",)]),
        ({"a": None}, {}, [("a",)]),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], [("x", "v")]),
        ([{"name": "x"}], [{"name": "y"}, {"name": "x"}], [("y",)]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}, {"name": "x"}], [()]),
        ([{"p": 1}], [{"p": 2}], [("0", "p")]),
        ([{"p": 1}], [{"p": 1}, {"p": 2}], [()]),
        ([1, 2], [1, 3], [()]),
    ],
)
def test_differences_are_found_by_path(before, after, paths):
    assert [path for path, _, _ in list_differences(before, after)] == paths


@pytest.mark.parametrize("options", OPTIONS)
def test_a_plan_is_digested_over_the_digests_of_its_changes(options):
    box = Box()
    box.apply(BEFORE, options)
    plan = box.plan(AFTER, options)
    known = [digest_effect(change, key=KEY) for change in plan.changes]

    assert digest(plan, effects=known) == digest(plan)
    assert digest(plan, effects=[f"{known[0][:-1]}x"]) != digest(plan)
    with pytest.raises(ValueError, match="shorter"):
        digest(plan, effects=[])
