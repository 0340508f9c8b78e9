"""Volumes and mounts of a Pod that a real server refuses together, and the updates of a Pod that it refuses."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.kubernetes.v1_36.validation.pod_updates import validate_pod_update
from applyviz.kubernetes.v1_36.validation.pods import validate_pod_spec
from applyviz.kubernetes.v1_36.validation.volumes import validate_source
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.controlplane.fixed_fields import put

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
RECORDED = json.loads((Path(__file__).parents[1] / "cases/risks/fixed-fields.json").read_text(encoding="utf-8"))
UPDATES = [
    pytest.param(one["live"], change, id=f"{one['live']['metadata']['name']} {change['field']}")
    for one in RECORDED
    if one["live"]["kind"] == "Pod"
    for change in one["changes"]
    if change["field"].startswith("spec.")
]
PODS = "/api/v1/namespaces/default/pods"


def _list_fields(volumes):
    mounts = [{"name": "a", "mountPath": "/a"}]
    spec = {"volumes": volumes, "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}]}
    return {error.path for error in validate_pod_spec(spec, "spec") if "olume" in error.path}


@pytest.mark.parametrize(("live", "change"), UPDATES)
def test_update_of_a_pod_is_refused_as_by_a_real_server(live, change):
    result = put(live, change["field"], change["value"])

    assert sorted({error.path for error in validate_pod_update(result, live)}) == change["refused"]


def test_volume_with_a_problem_can_be_mounted_by_nobody():
    two_types = {"name": "a", "emptyDir": {}, "configMap": {"name": "m"}}

    assert _list_fields([two_types]) == {"spec.volumes[0].configMap", "spec.containers[0].volumeMounts[0].name"}


def test_valid_volume_beside_one_of_the_same_name_is_mounted():
    assert _list_fields([{"name": "a", "emptyDir": {}}]) == set()
    assert _list_fields([{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]) == {"spec.volumes[1].name"}


def test_reference_of_a_persistent_volume_to_a_secret_needs_a_namespace():
    sources = {
        "csi": {"driver": "d.example.com", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}},
        "cinder": {"volumeID": "v", "secretRef": {}},
        "gcePersistentDisk": {},
    }
    found = [e.path for kind, one in sources.items() for e in validate_source(kind, one, kind, ("name", "namespace"))]

    assert found == [
        "csi.nodePublishSecretRef.namespace",
        *("cinder.secretRef.name", "cinder.secretRef.namespace"),
        "gcePersistentDisk.pdName",
    ]


def _create(**spec):
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**CONTAINERS, **spec}}
    return sandbox, sandbox.handle(Request("POST", PODS, {}, JSON, body))


def test_priority_of_its_own_is_refused():
    _, answer = _create(priority=5)

    assert answer.status == 403
    assert answer.message == (
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission '
        "controller computed 0 from the given PriorityClass name"
    )


def test_preemption_policy_of_its_own_is_refused():
    _, answer = _create(preemptionPolicy="Never")

    assert answer.status == 403
    assert answer.message == (
        'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
        "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
    )


def test_write_that_leaves_the_priority_out_keeps_it():
    sandbox, created = _create()
    spec = {k: v for k, v in created.body["spec"].items() if k not in ("priority", "preemptionPolicy")}

    answer = sandbox.handle(Request("PUT", f"{PODS}/p", {}, JSON, {**created.body, "spec": spec}))

    assert (answer.status, answer.body["spec"]["priority"]) == (200, 0)
    assert answer.body["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
