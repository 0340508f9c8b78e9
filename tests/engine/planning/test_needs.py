"""What an object needs, by what it names."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.sets.dependencies import find_dependencies

POD = {
    "serviceAccountName": "runner",
    "priorityClassName": "high",
    "imagePullSecrets": [{"name": "registry"}, "odd"],
    "volumes": [
        {"configMap": {"name": "settings"}},
        {"secret": {"secretName": "keys"}},
        {"persistentVolumeClaim": {"claimName": "data"}},
        {"projected": {"sources": [{"secret": {"name": "more-keys"}}]}},
    ],
    "containers": [
        {
            "env": [
                {"valueFrom": {"configMapKeyRef": {"name": "env"}}},
                {"valueFrom": {"secretKeyRef": {"name": "env-keys"}}},
                {"value": "plain"},
            ],
            "envFrom": [{"configMapRef": {"name": "all"}}, {"secretRef": {"name": "all-keys"}}],
        }
    ],
}


def needs(obj, namespace="shop"):
    obj = {"metadata": {"name": "a", "namespace": namespace}, **obj}
    found = find_dependencies(ObjectRef.from_object(obj), obj)
    return sorted(f"{kind} {space}/{name}" if space else f"{kind} {name}" for _, kind, space, name in found)


@pytest.mark.parametrize(
    "spec", [POD, {"template": {"spec": POD}}, {"jobTemplate": {"spec": {"template": {"spec": POD}}}}]
)
def test_pods_need_what_they_mount_read_and_run_as(spec):
    assert needs({"apiVersion": "v1", "kind": "Any", "spec": spec}) == [
        "ConfigMap shop/all",
        "ConfigMap shop/env",
        "ConfigMap shop/settings",
        "Namespace shop",
        "PersistentVolumeClaim shop/data",
        "PriorityClass high",
        "Secret shop/all-keys",
        "Secret shop/env-keys",
        "Secret shop/keys",
        "Secret shop/more-keys",
        "Secret shop/registry",
        "ServiceAccount shop/runner",
    ]


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        ({}, []),
        ({"serviceAccountName": "runner"}, ["ServiceAccount shop/runner"]),
        ({"priorityClassName": "high"}, ["PriorityClass high"]),
    ],
)
def test_pod_that_leaves_names_out_does_not_need_them(pod, wanted):
    spec = {**pod, "containers": [{"name": "main", "image": "one"}]}

    assert needs({"apiVersion": "v1", "kind": "Pod", "spec": spec}) == sorted(["Namespace shop", *wanted])


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        (
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s"}, {"kind": "User", "name": "u"}],
            },
            ["Namespace shop", "Role shop/r", "ServiceAccount shop/s"],
        ),
        (
            {"kind": "RoleBinding", "roleRef": {"kind": "ClusterRole", "name": "r"}},
            ["ClusterRole r", "Namespace shop"],
        ),
        (
            {"kind": "HPA", "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}},
            ["Deployment shop/d", "Namespace shop"],
        ),
        (
            {
                "kind": "Ingress",
                "spec": {
                    "defaultBackend": {"service": {"name": "rest"}},
                    "rules": [{"http": {"paths": [{"backend": {"service": {"name": "web"}}}]}}],
                },
            },
            ["Namespace shop", "Service shop/rest", "Service shop/web"],
        ),
        (
            {"kind": "Hook", "webhooks": [{"clientConfig": {"service": {"namespace": "sys", "name": "hook"}}}]},
            ["Namespace shop", "Service sys/hook"],
        ),
        (
            {"kind": "APIService", "spec": {"service": {"namespace": "sys", "name": "api"}}},
            ["Namespace shop", "Service sys/api"],
        ),
    ],
)
def test_others_need_what_they_name(obj, wanted):
    assert needs(obj) == wanted


def test_object_without_namespace_and_names_needs_nothing():
    assert needs({"kind": "ClusterRole", "rules": []}, namespace="") == []
