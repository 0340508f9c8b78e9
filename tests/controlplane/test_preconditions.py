"""What binds a write to what was reviewed, probed on the real API server: each patch type, create, delete.

A stale version is refused with 409, another uid with 409 or 422, and absence binds as well; nothing is written then.
"""

from __future__ import annotations

import pytest

from applyviz.clusters import live
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.exchange import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Answer,
    Request,
)
from applyviz.workflow.runs.request_sender import is_field_conflict

pytestmark = pytest.mark.controlplane
FOLDER = "/api/v1/namespaces/default/configmaps"
OTHER_UID = "00000000-0000-0000-0000-000000000000"
PATCHES = (APPLY_PATCH, STRATEGIC_MERGE_PATCH, MERGE_PATCH, JSON_PATCH)


@pytest.fixture(scope="module")
def send(control_plane):
    transport = live.from_credential(read_kubeconfig(control_plane.kubeconfig.read_bytes(), context="test"))
    yield transport.send
    transport.close()


@pytest.fixture
def made(send, request):
    """An object at its second version; gives (name, uid, first version, second version)."""
    name = f"bound-{abs(hash(request.node.name)) % 10**9}"
    first = send(Request("POST", FOLDER, {"fieldManager": "setup"}, JSON, config_map(name, a="1"))).body["metadata"]
    body = {"data": {"z": "1"}}
    second = send(Request("PATCH", f"{FOLDER}/{name}", {"fieldManager": "other"}, MERGE_PATCH, body)).body["metadata"]
    return name, first["uid"], first["resourceVersion"], second["resourceVersion"]


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def bind(name: str, content_type: str, uid: str, version: str) -> Request:
    """A patch that is bound to a uid and a version, as its type can be."""
    bound = {"uid": uid, "resourceVersion": version}
    body: object = {"metadata": bound, "data": {"b": "2"}}
    if content_type == APPLY_PATCH:
        body = {**config_map(name, b="2"), "metadata": {"name": name, **bound}}
    if content_type == JSON_PATCH:
        body = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data/b", "value": "2"},
        ]
    return Request("PATCH", f"{FOLDER}/{name}", {"fieldManager": "applyviz"}, content_type, body)


def read(send, name: str) -> Answer:
    return send(Request("GET", f"{FOLDER}/{name}"))


@pytest.mark.parametrize("content_type", PATCHES)
def test_patch_bound_to_what_is_there_is_carried_out(send, made, content_type):
    name, uid, _, version = made

    assert send(bind(name, content_type, uid, version)).status == 200
    assert read(send, name).body["data"]["b"] == "2"


@pytest.mark.parametrize("content_type", PATCHES)
def test_patch_bound_to_a_stale_version_is_a_conflict_of_versions(send, made, content_type):
    name, uid, stale, _ = made

    answer = send(bind(name, content_type, uid, stale))

    assert (answer.status, answer.reason, is_field_conflict(answer)) == (409, "Conflict", False)
    assert "b" not in read(send, name).body["data"]


@pytest.mark.parametrize("content_type", PATCHES)
def test_patch_bound_to_another_uid_is_refused(send, made, content_type):
    name, _, _, version = made

    answer = send(bind(name, content_type, OTHER_UID, version))

    assert answer.status in (409, 422)
    assert "b" not in read(send, name).body["data"]


@pytest.mark.parametrize("content_type", PATCHES)
def test_patch_bound_to_an_object_that_is_gone_is_refused(send, made, content_type):
    name, uid, _, version = made
    send(Request("DELETE", f"{FOLDER}/{name}"))

    assert send(bind(name, content_type, uid, version)).status in (404, 409)
    assert read(send, name).status == 404


def test_apply_bound_to_absence_creates_once(send):
    body = {**config_map("absent", a="1"), "metadata": {"name": "absent", "resourceVersion": "1"}}
    request = Request("PATCH", f"{FOLDER}/absent", {"fieldManager": "applyviz"}, APPLY_PATCH, body)

    assert [send(request).status, send(request).status] == [201, 409]


def test_post_is_bound_to_absence(send):
    request = Request("POST", FOLDER, {}, JSON, config_map("posted"))

    assert [send(request).status, send(request).reason] == [201, "AlreadyExists"]


@pytest.mark.parametrize(("uid", "version"), [("uid", "stale"), ("other", "version")])
def test_delete_with_preconditions_that_do_not_hold_is_a_conflict(send, made, uid, version):
    name, own, stale, present = made
    wanted = {
        "uid": own if uid == "uid" else OTHER_UID,
        "resourceVersion": stale if version == "stale" else present,
    }
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": wanted}

    assert send(Request("DELETE", f"{FOLDER}/{name}", {}, JSON, body)).status == 409
    assert read(send, name).status == 200


def test_delete_with_preconditions_that_hold_is_carried_out(send, made):
    name, uid, _, version = made
    body = {"kind": "DeleteOptions", "preconditions": {"uid": uid, "resourceVersion": version}, "apiVersion": "v1"}

    assert send(Request("DELETE", f"{FOLDER}/{name}", {}, JSON, body)).status == 200
    assert read(send, name).status == 404


def test_conflict_of_fields_is_told_from_one_of_versions(send, made):
    name, uid, _, version = made
    body = {**config_map(name, a="9"), "metadata": {"name": name, "uid": uid, "resourceVersion": version}}

    answer = send(Request("PATCH", f"{FOLDER}/{name}", {"fieldManager": "applyviz"}, APPLY_PATCH, body))

    assert (answer.status, is_field_conflict(answer)) == (409, True)


@pytest.mark.parametrize("content_type", PATCHES)
def test_dry_run_answers_preconditions_like_the_write(send, made, content_type):
    name, uid, stale, version = made

    assert send(bind(name, content_type, uid, stale).as_dry_run()).status == 409
    assert send(bind(name, content_type, uid, version).as_dry_run()).status == 200


@pytest.mark.parametrize("content_type", PATCHES)
def test_dry_run_bound_to_a_stale_version_is_a_conflict_even_if_it_changes_nothing(send, made, content_type):
    name, uid, stale, version = made
    assert send(bind(name, content_type, uid, version)).status == 200
    present = read(send, name).body["metadata"]["resourceVersion"]

    answers = [send(bind(name, content_type, uid, one).as_dry_run()).status for one in (stale, version, present)]

    assert answers == [409, 409, 200]
    assert read(send, name).body["metadata"]["resourceVersion"] == present
