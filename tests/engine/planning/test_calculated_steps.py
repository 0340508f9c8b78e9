"""What pages need to show the calculation: the steps of a patch, the requests in order, and what a server computes."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.request_sequence import StepPurpose, find_object_path, list_sequence
from applyviz.engine.planning.model.server_steps import ServerSteps, list_server_steps
from applyviz.engine.planning.objects.live_values import withhold_live
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.requests.options import (
    PRODUCT_MANAGER,
    ApplyMode,
    ApplyOptions,
    Replacement,
    SetAction,
)
from applyviz.engine.schema.model import SchemaOrigin
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT)
SERVER = ApplyOptions(mode=ApplyMode.SERVER)
PATH = "/api/v1/namespaces/default/configmaps/a"


def write(kind: str = "ConfigMap", **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "data": data})


def plan(before: str, after: str, options: ApplyOptions) -> PlannedObject:
    box = Box()
    box.apply(before, options)
    return box.plan_one(after, options)


def job(image: str) -> str:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": image}]}}}
    return yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec})


def list_steps(change: PlannedObject) -> list[tuple[str, str, str, int]]:
    return [(one.purpose.value, one.method, one.path, one.status) for one in list_sequence(change)]


def test_update_has_the_steps_of_its_patch() -> None:
    change = plan(write(a="1", b="1"), write(b="2"), CLIENT)

    assert change.calculation == PatchSteps({"data": {"a": None}}, {"data": {"b": "2"}}, sets_annotation=True)
    assert change_from_json(change_to_json(change)).calculation == change.calculation


def test_new_and_unchanged_objects_have_no_patch() -> None:
    assert Box().plan_one(write(a="1"), CLIENT).calculation is None
    assert plan(write(a="1"), write(a="1"), CLIENT).calculation is None
    assert plan(write(a="1"), write(a="2"), SERVER).calculation is None


def test_refused_patch_keeps_its_steps() -> None:
    change = plan(job("a:1"), job("a:2"), CLIENT)

    assert change.operation is Operation.ERROR
    assert change.calculation is not None
    assert change.calculation.additions["spec"]["template"]["spec"]["containers"] == [{"image": "a:2", "name": "a"}]


@pytest.mark.parametrize(
    "options", [SERVER, replace(CLIENT, action=SetAction.SET_LAST_APPLIED), replace(CLIENT, action=SetAction.PATCH)]
)
def test_other_refused_requests_have_no_steps(options: ApplyOptions) -> None:
    """A server-side apply, a record and a patch of a person are no three-way patches."""
    box = Box()
    box.apply(write(a="1"), CLIENT)
    refused = Answer(422, {"kind": "Status", "reason": "Invalid", "message": "no", "code": 422})
    box.intercept = lambda request: refused if request.is_write else None
    patch = {"kind": "Patch", "target": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}, "type": "merge"}
    text = yaml.safe_dump({**patch, "patch": {"data": {"a": "2"}}}) if options.is_patching else write(a="2")

    change = box.plan_one(text, options)

    assert (change.operation, change.calculation) == (Operation.ERROR, None)


def test_refused_create_has_no_steps() -> None:
    box = Box()
    box.intercept = lambda request: Answer(422, {"kind": "Status", "reason": "Invalid"}) if request.is_write else None

    change = box.plan_one(write(a="1"), CLIENT)

    assert (change.operation, change.calculation) == (Operation.ERROR, None)


def test_values_of_secrets_are_masked_in_every_step() -> None:
    secret = write("Secret", password="czNjcmV0LTE=", old="b2xkLTE=")
    change = plan(secret, write("Secret", password="czNjcmV0LTI="), CLIENT)

    shown = mask_change(change, tag_key=b"key").calculation

    assert shown is not None
    assert shown.deletions == {"data": {"old": None}}
    assert "masked" in shown.additions["data"]["password"]
    assert withhold_live(mask_change(change, tag_key=b"key")).calculation is None


def test_requests_come_in_order_with_the_answers_that_lead_on() -> None:
    created = Box().plan_one(write(a="1"), CLIENT)
    updated = plan(write(a="1"), write(a="2"), CLIENT)
    same = plan(write(a="1"), write(a="1"), CLIENT)
    gone = Box().plan_one(write(a="1"), replace(CLIENT, action=SetAction.DELETE))

    assert list_steps(created) == [("read", "GET", PATH, 404), ("write", "POST", PATH.removesuffix("/a"), 200)]
    assert list_steps(updated) == [("read", "GET", PATH, 200), ("write", "PATCH", PATH, 200)]
    assert list_steps(same) == [("read", "GET", PATH, 200)]
    assert list_steps(gone) == [("read", "GET", PATH, 404)]
    assert list_sequence(updated)[1].request is updated.requests[0]


def test_deleted_object_is_read_until_it_is_gone() -> None:
    change = plan(job("a:1"), job("a:2"), replace(CLIENT, replacement=Replacement(kinds=("batch/Job",))))

    assert change.operation is Operation.REPLACE
    assert change.calculation is not None
    assert [(step.purpose, step.method, step.status) for step in list_sequence(change)] == [
        (StepPurpose.READ, "GET", 200),
        (StepPurpose.WRITE, "DELETE", 200),
        (StepPurpose.WAIT, "GET", 404),
        (StepPurpose.WRITE, "POST", 200),
    ]


def test_unread_and_left_out_objects_promise_nothing() -> None:
    box = Box()
    box.intercept = lambda request: Answer(503, {}) if request.path == PATH else None
    unread = box.plan_one(write(a="1"), CLIENT)

    assert list_steps(unread) == [("read", "GET", PATH, 0)]
    assert list_sequence(replace(unread, operation=Operation.LEFT_OUT)) == ()


@pytest.mark.parametrize(
    ("origin", "version", "path"),
    [
        (SchemaOrigin.CLUSTER_OPENAPI, "v1", "/openapi/v3/api/v1"),
        (SchemaOrigin.CLUSTER_CRD, "v1", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    ],
)
def test_schema_is_read_before_the_object(origin: SchemaOrigin, version: str, path: str) -> None:
    change = replace(plan(write(a="1"), write(a="2"), CLIENT), schema_origin=origin)

    assert list_steps(change)[0] == ("schema", "GET", path, 200)
    assert [one.is_schema for one in list_sequence(change)] == [True, False, False]


def test_schema_of_a_group_has_its_own_address() -> None:
    change = replace(plan(job("a:1"), job("a:1"), CLIENT), schema_origin=SchemaOrigin.CLUSTER_OPENAPI)

    assert list_steps(change)[0] == ("schema", "GET", "/openapi/v3/apis/batch/v1", 200)


def test_address_of_an_object_is_that_of_its_writes() -> None:
    change = plan(write(a="1"), write(a="2"), CLIENT)
    scale = replace(change.requests[0], path=f"{PATH}/scale")
    custom = change.ref._replace(gvk=change.ref.gvk._replace(group="example.com", kind="Widget"))

    assert find_object_path(replace(change, requests=(scale,), subresource="scale")) == PATH
    assert find_object_path(replace(change, requests=(Request("GET", "/elsewhere"),))) == PATH
    assert find_object_path(replace(change, requests=(), ref=custom)) == ""


def compute(before: str, after: str, **options: object) -> ServerSteps:
    change = plan(before, after, replace(SERVER, **options))
    return list_server_steps(change.fields, manager=PRODUCT_MANAGER)


def names(paths: tuple[tuple[str, ...], ...]) -> list[str]:
    return [render_path(path) for path in paths]


def test_server_removes_what_is_no_longer_sent_and_owned_by_nobody_else() -> None:
    found = compute(write(a="1", b="1"), write(b="2", c="3"))

    assert names(found.sent) == [".data.b", ".data.c"]
    assert (names(found.removed), names(found.set), names(found.taken)) == (
        [".data.a"],
        [".data.b", ".data.c"],
        [".data.c"],
    )
    assert found.before == ((f"{PRODUCT_MANAGER} (Apply)", 2),)
    assert found.after == ((f"{PRODUCT_MANAGER} (Apply)", 2),)
    assert (found.kept, found.conflicts) == ((), ())


def test_server_keeps_what_others_own_and_names_conflicts() -> None:
    box = Box()
    box.apply(write(a="1", b="1"), SERVER)
    box.apply(write(a="1"), replace(SERVER, field_manager="other"))
    kept = list_server_steps(box.plan_one(write(b="1"), SERVER).fields, manager=PRODUCT_MANAGER)
    other = replace(SERVER, field_manager="third")
    blocked = list_server_steps(box.plan_one(write(a="9"), other).fields, manager="third")

    assert [(render_path(one.path), one.owners) for one in kept.kept] == [(".data.a", ("other (Apply)",))]
    assert kept.removed == ()
    assert names(blocked.conflicts) == names(blocked.sent) == [".data.a"]


def test_field_that_moves_to_the_manager_first_and_is_not_sent_is_given_up() -> None:
    box = Box()
    box.apply(write(a="1", b="1"), CLIENT)
    change = box.plan_one(write(b="1"), SERVER)

    found = list_server_steps(change.fields, manager=PRODUCT_MANAGER, requests=change.requests)

    assert change.versions.after is not None
    assert change.versions.after["data"] == {"b": "1"}
    assert {".data.a", ".data.b"} <= set(names(found.moved))
    assert ".data.a" in names(found.removed)
    assert names(found.taken) == [".data.b"]


def test_owner_of_a_subresource_is_named_with_it() -> None:
    change = plan(write(a="1"), write(a="2"), SERVER)
    (field,) = (one for one in change.fields if one.owners_before)
    scaled = replace(field, owners_before=(replace(field.owners_before[0], operation="Update", subresource="scale"),))

    found = list_server_steps((scaled,), manager=PRODUCT_MANAGER)

    assert found.before == ((f"{PRODUCT_MANAGER} (Update scale)", 1),)


def test_reads_among_the_requests_of_a_change_are_no_writes() -> None:
    change = replace(plan(write(a="1"), write(a="2"), CLIENT), requests=(Request("GET", "/elsewhere"),))

    assert list_steps(change) == [("read", "GET", PATH, 200)]
