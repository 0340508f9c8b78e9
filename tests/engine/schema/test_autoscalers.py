"""HorizontalPodAutoscalers between autoscaling/v1 and v2."""

from __future__ import annotations

import json

from applyviz.engine.schema.autoscalers import convert_autoscaler

MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 60}}
CONDITIONS = [{"type": "AbleToScale", "status": "True"}]
PREFIX = "autoscaling.alpha.kubernetes.io/"


def make_cpu(percent):
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def make(version, spec, annotations=None, status=None):
    metadata = {"name": "web", "annotations": annotations} if annotations else {"name": "web"}
    obj = {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": spec,
    }
    return {**obj, "status": status} if status else obj


def test_same_version_is_a_copy():
    obj = make("v2", {"maxReplicas": 1})

    assert convert_autoscaler(obj, "v2") == obj
    assert convert_autoscaler(obj, "v2") is not obj


def test_what_v1_cannot_say_travels_in_annotations():
    spec = {"maxReplicas": 5, "metrics": [None, MEMORY, make_cpu(60)], "behavior": BEHAVIOR}
    status = {"conditions": CONDITIONS, "observedGeneration": 2, "currentReplicas": 1, "desiredReplicas": 2}

    there = convert_autoscaler(make("v2", spec, status=status), "v1")
    back = convert_autoscaler(there, "v2")

    assert there["spec"] == {"maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
    assert {k.removeprefix(PREFIX): json.loads(v) for k, v in there["metadata"]["annotations"].items()} == {
        "metrics": [None, MEMORY],
        "behavior": BEHAVIOR,
        "conditions": CONDITIONS,
    }
    assert back["spec"] == {"maxReplicas": 5, "metrics": [make_cpu(60), None, MEMORY], "behavior": BEHAVIOR}
    assert back["status"]["conditions"] == CONDITIONS
    assert "annotations" not in back["metadata"]


def test_annotation_that_is_no_json_is_dropped():
    obj = make("v1", {"maxReplicas": 5}, {PREFIX + "metrics": "{", "note": "a"})

    converted = convert_autoscaler(obj, "v2")

    assert (converted["spec"], converted["metadata"]["annotations"]) == ({"maxReplicas": 5}, {"note": "a"})


def test_default_metric_comes_with_reading_from_storage_only():
    obj = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}

    assert "metrics" not in convert_autoscaler(obj, "v2")["spec"]
    assert convert_autoscaler(obj, "v2", has_defaults=True)["spec"]["metrics"] == [make_cpu(80)]
