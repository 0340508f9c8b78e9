"""What one object names and selects, by cases (`tests/cases/references/names.yaml`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.references import pods
from applyviz.engine.references.listing import list_references, list_selections
from applyviz.engine.references.model import ReadMode, Reference
from applyviz.engine.references.pods import find_pod_template
from applyviz.engine.references.selectors import LabelSelector, LabelSelectorRequirement, read_selector
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parents[2] / "cases" / "references" / "names.yaml")


def describe(obj: dict[str, Any]) -> list[str]:
    ref, lines = ObjectRef.from_object(obj), []
    for found in list_references(ref, obj):
        _, kind, namespace, name = found.target
        words = [
            found.kind.value,
            kind,
            f"{namespace}/{name}" if namespace else name,
            "at",
            ".".join(map(str, found.path)),
        ]
        words += [found.mode.value] if found.mode else []
        words += ["key", found.key] if found.key else []
        words += ["optional"] if found.is_optional else ["maybe"] if found.is_key_optional else []
        lines.append(" ".join(words))
    for selection in list_selections(ref, obj):
        ports = ["ports", *(port.name for port in selection.ports)] if selection.ports else []
        place = ".".join(map(str, selection.path))
        lines.append(" ".join([selection.kind.value, str(selection.selector), "at", place, *ports]))
    return lines


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_object_names_and_selects_what_its_case_says(case):
    assert describe(case["object"]) == case["expect"]


@pytest.mark.parametrize(
    ("selector", "labels", "wanted"),
    [
        ({}, {}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "2"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {"a": "1"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": "1"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, {"a": "1"}, False),
    ],
)
def test_selector_matches_labels_as_the_server_does(selector, labels, wanted):
    found = read_selector(selector)

    assert found is not None
    assert found.matches(labels) is wanted


def test_only_a_selector_without_requirements_selects_everything():
    assert LabelSelector().selects_all
    assert not LabelSelector((("a", "1"),)).selects_all
    assert not LabelSelector((), (LabelSelectorRequirement("a", "Exists"),)).selects_all
    assert read_selector(None) is None


def test_modes_that_are_read_once():
    assert [mode.is_read_once for mode in ReadMode] == [False, True, True, False, True]


def test_pods_are_found_where_kinds_have_them():
    pod = {"containers": []}

    found = [
        find_pod_template(obj)
        for obj in (
            {"spec": {"template": {"spec": pod}}},
            {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}},
            {"template": {"spec": pod}},
            {"spec": pod},
            {"spec": {}},
        )
    ]

    assert [None if template is None else ".".join(template.path) for template in found] == [
        "spec.template.spec",
        "spec.jobTemplate.spec.template.spec",
        "template.spec",
        "spec",
        None,
    ]


def test_a_variable_with_a_value_makes_no_reference(monkeypatch):
    made = []
    monkeypatch.setattr(pods, "Reference", lambda *values, **named: made.append(values) or Reference(*values, **named))
    source = {"secretKeyRef": {"name": "login", "key": "word"}}
    variables = [{"name": f"V{n}", "value": "x"} for n in range(50)] + [{"name": "W", "valueFrom": source}]
    pod = {"spec": {"containers": [{"name": "main", "env": variables}], "volumes": [{"name": "v", "emptyDir": {}}] * 9}}

    found = list(pods.list_pod_references(pods.find_pod_template(pod), "shop"))

    assert [one.path[-1] for one in found if one.target[3]] == ["secretKeyRef"]
    assert len(made) < 20
