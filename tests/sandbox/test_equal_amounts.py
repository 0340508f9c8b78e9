"""An amount in another spelling is no change to the server: no field is refused, and no generation counts it."""

from __future__ import annotations

import pytest

from applyviz.conformance.inputs import ApplyInput, HeldCluster
from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.kubernetes.parity.equality import find_topology, is_equal

POD = {"spec": {"containers": [{"name": "a", "image": "a:1", "resources": {"limits": {"memory": "1Gi"}}}]}}
LABELED = {"metadata": {"labels": {"a": "b"}}, **POD}
CHOSEN = {"selector": {"matchLabels": {"a": "b"}}, "template": LABELED}


SPEC = find_topology("v1", "Pod", "spec")
RESOURCES = find_topology("v1", "PersistentVolumeClaim", "spec", "resources")
LABELS = find_topology("v1", "Pod", "metadata", "labels")


@pytest.mark.parametrize(
    ("at", "left", "right"),
    [
        (RESOURCES, {"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1073741824"}}),
        (
            SPEC,
            {"volumes": [{"emptyDir": {"sizeLimit": "1Gi"}}]},
            {"volumes": [{"emptyDir": {"sizeLimit": 1073741824}}]},
        ),
        (SPEC, {"overhead": {"memory": "1Gi"}}, {"overhead": {"memory": "1073741824"}}),
        (RESOURCES, {"requests": None}, {"requests": None}),
        (
            find_topology("v1", "LimitRange", "spec"),
            {"limits": [{"max": {"cpu": 1}}]},
            {"limits": [{"max": {"cpu": "1000m"}}]},
        ),
        (find_topology("v1", "PersistentVolume", "spec", "capacity"), {"storage": "1Gi"}, {"storage": "1024Mi"}),
        (None, {"a": 1, "b": [None]}, {"b": [None], "a": 1}),
    ],
)
def test_same_amounts_are_equal(at, left, right):
    assert is_equal(left, right, at)


@pytest.mark.parametrize(
    ("at", "left", "right"),
    [
        (RESOURCES, {"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1Gi", "cpu": "1"}}),
        (RESOURCES, {"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1G"}}),
        (RESOURCES, {"limits": {"memory": "1Gi"}}, {"requests": {"memory": "1Gi"}}),
        (RESOURCES, {"limits": None}, {"limits": {"memory": "1Gi"}}),
        (RESOURCES, {"limits": {"memory": "much"}}, {"limits": {"memory": "1Gi"}}),
        (LABELS, {"sizeLimit": "1"}, {"sizeLimit": "1.0"}),
        (LABELS, {"version": "1"}, {"version": "1.0"}),
        (SPEC, {"nodeSelector": {"divisor": "1"}}, {"nodeSelector": {"divisor": "1000m"}}),
        (None, {"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}),
        (SPEC, ["1"], ["1", "2"]),
        (SPEC, "1", "1.0"),
    ],
)
def test_everything_else_differs_where_it_is_written_otherwise(at, left, right):
    assert not is_equal(left, right, at)


class Counted(int):
    """A number that counts how often it is compared."""

    count = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.count += 1
        return int.__eq__(self, other)


def test_values_are_not_compared_again_at_each_level():
    left, right = {"a": "1"}, {"a": "2"}
    for _ in range(50):
        left, right = {"n": Counted(1), "a": left}, {"n": Counted(1), "a": right}
    Counted.count = 0

    assert not is_equal(left, right, None)

    assert Counted.count <= 2 * 50


@pytest.mark.parametrize(
    ("group", "plural", "kind", "spec"),
    [
        ("apps", "deployments", "Deployment", CHOSEN),
        ("apps", "statefulsets", "StatefulSet", {"serviceName": "a", **CHOSEN}),
        ("apps", "daemonsets", "DaemonSet", CHOSEN),
    ],
)
def test_generation_does_not_count_another_spelling(group, plural, kind, spec):
    cluster = HeldCluster(ApplyInput("x", ()))
    path = f"/apis/{group}/v1/namespaces/shop/{plural}"
    made = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    assert cluster.handle(Request("POST", path, body=made)).is_ok

    containers = [{**POD["spec"]["containers"][0], "resources": {"limits": {"memory": "1073741824"}}}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    answer = cluster.handle(Request("PATCH", f"{path}/a", {}, MERGE_PATCH, patch))

    assert answer.is_ok
    assert answer.body["metadata"]["generation"] == 1
    assert answer.body["metadata"].get("annotations", {}) in ({}, {"deprecated.daemonset.template.generation": "1"})
    found = answer.body["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert found == {"limits": {"memory": "1073741824"}}
