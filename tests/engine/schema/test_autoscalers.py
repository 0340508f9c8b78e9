"""HorizontalPodAutoscalers between autoscaling/v1 and v2."""

from __future__ import annotations

import json

import pytest

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
    spec = {"maxReplicas": 5, "metrics": [MEMORY, make_cpu(60), make_cpu(70)], "behavior": BEHAVIOR}
    status = {"conditions": CONDITIONS, "observedGeneration": 2, "currentReplicas": 1, "desiredReplicas": 2}

    there = convert_autoscaler(make("v2", spec, {PREFIX + "metrics": "stale", "own": "1"}, status=status), "v1")
    back = convert_autoscaler(there, "v2")

    assert there["spec"] == {"maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
    rules = {"StabilizationWindowSeconds": 60, "SelectPolicy": None, "Policies": None, "Tolerance": None}
    assert {
        k.removeprefix(PREFIX): json.loads(v) for k, v in there["metadata"]["annotations"].items() if k != "own"
    } == {
        "metrics": [{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}],
        "behavior": {"ScaleUp": None, "ScaleDown": rules},
        "conditions": CONDITIONS,
    }
    assert back["spec"] == {"maxReplicas": 5, "metrics": [MEMORY, make_cpu(60)], "behavior": BEHAVIOR}
    assert back["status"]["conditions"] == CONDITIONS
    assert back["metadata"]["annotations"] == {"own": "1"}


# The texts are those that kube-apiserver v1.36.3 writes.
@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "q", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "Value", "value": "30"},
                },
            },
            '{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"30"}}',
        ),
        (
            {
                "type": "External",
                "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}},
            },
            '{"type":"External","external":{"metricName":"q","targetAverageValue":"3"}}',
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "r"},
                    "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                    "target": {"type": "Value", "value": "10"},
                },
            },
            '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"r",'
            '"targetValue":"10"}}',
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "r"},
                    "describedObject": {"kind": "Service", "name": "s"},
                    "target": {"type": "AverageValue", "averageValue": "10"},
                },
            },
            '{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"r","targetValue":"0",'
            '"averageValue":"10"}}',
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 5},
                },
            },
            '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":5,"container":"c"}}',
        ),
        (
            {
                "type": "Pods",
                "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
            },
            '{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10"}}',
        ),
    ],
)
def test_metrics_are_written_as_v1_has_them_and_come_back(metric, text):
    there = convert_autoscaler(make("v2", {"maxReplicas": 1, "metrics": [metric]}), "v1")
    back = convert_autoscaler(there, "v2")

    assert there["metadata"]["annotations"] == {PREFIX + "metrics": f"[{text}]"}
    assert back["spec"]["metrics"] == [metric]


def test_policies_of_a_behavior_are_written_under_the_names_of_go():
    policy = {"type": "Pods", "value": 4, "periodSeconds": 15}
    behavior = {"scaleUp": {"policies": [policy], "selectPolicy": "Max", "tolerance": "100m"}}

    there = convert_autoscaler(make("v2", {"maxReplicas": 1, "behavior": behavior}), "v1")

    assert there["metadata"]["annotations"][PREFIX + "behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,'
        '"PeriodSeconds":15}],"Tolerance":"100m"},"ScaleDown":null}'
    )
    assert convert_autoscaler(there, "v2")["spec"]["behavior"] == behavior


def test_metric_that_is_none_keeps_its_place():
    there = convert_autoscaler(make("v2", {"maxReplicas": 1, "metrics": [None]}), "v1")

    assert there["metadata"]["annotations"] == {PREFIX + "metrics": '[{"type":""}]'}
    assert convert_autoscaler(make("v1", {}, {PREFIX + "metrics": "[null]"}), "v2")["spec"]["metrics"] == [{"type": ""}]


def test_annotation_that_is_no_json_is_dropped():
    obj = make("v1", {"maxReplicas": 5}, {PREFIX + "metrics": "{", "note": "a"})

    converted = convert_autoscaler(obj, "v2")

    assert converted["spec"] == {"maxReplicas": 5, "metrics": [make_cpu(80)]}
    assert converted["metadata"]["annotations"] == {"note": "a"}


def test_conversion_adds_the_default_metric():
    obj = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}

    assert convert_autoscaler(obj, "v2")["spec"]["metrics"] == [make_cpu(80)]
