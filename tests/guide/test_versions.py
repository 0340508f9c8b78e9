"""A live object at another version than the manifest: kubectl reads it at the version of the manifest."""

import json

import pytest

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.requests.options import ApplyMode
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery

NOW = "2026-06-01T00:00:00Z"
METRICS = "autoscaling.alpha.kubernetes.io/metrics"
TEXT = {"type": "string"}
SCHEMAS = {"v1": {"a": TEXT, "old": TEXT}, "v2": {"a": TEXT, "new": {**TEXT, "default": "n"}}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "twos.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "twos", "kind": "Two"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            }
            for name, properties in SCHEMAS.items()
        ],
    },
}


def make_autoscaler(version, **spec):
    head = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    return {**head, "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec}}


def make_metric(name, **target):
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def apply(live, manifest, crds=""):
    texts = {"manifest": json.dumps(manifest), "live": json.dumps(live), "last_applied": json.dumps(live), "crds": crds}
    return playground.estimate(
        PlaygroundQuery(**texts, mode=ApplyMode.CLIENT, field_manager=CLIENT_SIDE_MANAGER), now=NOW
    )


# What kube-apiserver v1.36.3 answered to kubectl.
def test_metrics_that_the_manifest_cannot_name_stay():
    live = make_autoscaler("v2", metrics=[make_metric("memory", type="AverageValue", averageValue="1Gi")])

    after = apply(live, make_autoscaler("v1", targetCPUUtilizationPercentage=50)).versions.after

    assert (after["apiVersion"], after["spec"]["targetCPUUtilizationPercentage"]) == ("autoscaling/v1", 50)
    assert json.loads(after["metadata"]["annotations"][METRICS]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}
    ]


def test_target_of_the_old_version_is_a_metric_of_the_new_one():
    live = make_autoscaler("v1", targetCPUUtilizationPercentage=50)
    wanted = make_metric("cpu", type="Utilization", averageUtilization=70)

    after = apply(live, make_autoscaler("v2", metrics=[wanted])).versions.after

    assert after["spec"]["metrics"] == [wanted]


@pytest.mark.parametrize("metrics", ["none", [1], [{"resource": 5}], {"a": 1}])
def test_live_that_does_not_fit_its_kind_is_read_as_it_is(metrics):
    change = apply(make_autoscaler("v2", metrics=metrics), make_autoscaler("v1"))

    assert change.versions.live["apiVersion"] in ("autoscaling/v1", "autoscaling/v2")


def test_custom_resource_is_read_at_the_version_of_the_manifest():
    live = {"apiVersion": "example.com/v1", "kind": "Two", "metadata": {"name": "t"}, "a": "1", "old": "x"}
    manifest = {"apiVersion": "example.com/v2", "kind": "Two", "metadata": {"name": "t"}, "a": "2"}

    change = apply(live, manifest, json.dumps(DEFINITION))

    live, after = change.versions.live, change.versions.after
    assert ("f:a",) in {reason.path for reason in change.fields}
    assert (live["apiVersion"], live["a"], "old" in live) == ("example.com/v2", "1", False)
    # The version of the storage has no field for the default of the other one.
    assert (after["a"], "new" in after) == ("2", False)


def test_owners_of_another_version_are_moved():
    fields = {"f:a": {}, "f:old": {}}
    entry = {"manager": CLIENT_SIDE_MANAGER, "operation": "Update", "apiVersion": "example.com/v1"}
    metadata = {
        "name": "t",
        "uid": "u",
        "resourceVersion": "1",
        "managedFields": [{**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}],
    }
    live = {"apiVersion": "example.com/v1", "kind": "Two", "metadata": metadata, "a": "1", "old": "x"}
    manifest = {"apiVersion": "example.com/v2", "kind": "Two", "metadata": {"name": "t"}, "a": "1"}
    texts = {"manifest": json.dumps(manifest), "live": json.dumps(live), "crds": json.dumps(DEFINITION)}

    change = playground.estimate(PlaygroundQuery(**texts), now=NOW)

    assert (change.conflicts, change.error) == ((), "")
    assert [entry["manager"] for entry in change.versions.after["metadata"]["managedFields"]] == ["kubectl"]
