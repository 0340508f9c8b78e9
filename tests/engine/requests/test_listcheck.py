"""Does the check of List documents refuse what kubectl refuses, and nothing else?"""

from __future__ import annotations

import pytest

from applyviz.engine.requests.listcheck import check_item
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain

CRD = {
    "metadata": {"name": "things.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
                            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "map": {"type": "object"},
                            "list": {"type": "array"},
                        },
                    }
                },
            }
        ],
    },
}
CATALOG = SourceChain(CRDSource([CRD]), bundled())
CONTAINER = {"name": "a"}


def pod(**container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": [{**CONTAINER, **container}]}}


def config(**fields):
    return {"apiVersion": "v1", "kind": "ConfigMap", **fields}


@pytest.mark.parametrize(
    "obj",
    [
        config(data={"a": 1}),
        config(data=None),
        config(metadata={"labels": {"a": True}}),
        pod(image="x"),
        pod(command=["x"], ports=[{"containerPort": 80}]),
        pod(livenessProbe={"httpGet": {"port": "web"}}),
        {"apiVersion": "unheard.example.org/v1", "kind": "Any", "spec": 1},
        {"apiVersion": "example.org/v1", "kind": "Thing", "spec": {"a": 1}, "any": {"x": {"y": 1}}},
        {"apiVersion": "example.org/v1", "kind": "Thing", "map": {"x": 1}, "list": [1, "a"]},
    ],
)
def test_passes(obj):
    assert check_item(obj, CATALOG) == ()


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        (config(nonsense=1), 'ValidationError(ConfigMap): unknown field "nonsense"'),
        (config(data=[1]), "ValidationError(ConfigMap.data): invalid type: got array, expected map"),
        (config(data={"a": None}), "unknown object type nil in ConfigMap.data.a"),
        (config(immutable="yes"), "ValidationError(ConfigMap.immutable): invalid type: got string, expected boolean"),
        (config(data={"a": {}}), "ValidationError(ConfigMap.data.a): invalid type: got map, expected string"),
        (pod(ports={}), "ValidationError(Pod.spec.containers[0].ports): invalid type: got map, expected array"),
        (pod(command=[None]), "ValidationError(Pod.spec.containers[0].command[0]): unknown object type nil"),
        (
            pod(livenessProbe=True),
            "ValidationError(Pod.spec.containers[0].livenessProbe): invalid type: got boolean, expected map",
        ),
        (pod(name=None), 'ValidationError(Pod.spec.containers[0]): missing required field "name"'),
        (
            {"apiVersion": "example.org/v1", "kind": "Thing", "spec": {"nope": 1}},
            'ValidationError(Thing.spec): unknown field "nope"',
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": 1},
            "ValidationError(Pod.spec): invalid type: got integer, expected map",
        ),
    ],
)
def test_refuses(obj, reason):
    assert check_item(obj, CATALOG) == (reason,)
