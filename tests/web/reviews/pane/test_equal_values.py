"""A conflict between equal values says so, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects import paths
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.web.reviews.pane.equal_values import describe_equal_values, is_equal_to_live

CPU = (*paths.fields("spec", "containers"), paths.key({"name": "web"}), *paths.fields("resources", "limits", "cpu"))
STDIN = (*CPU[:3], "f:stdin")
SPELLED = "The values are equal, in two spellings. With 1 in the manifest there is no conflict."
LEFT_OUT = "The values are equal, as the server keeps no empty value. Without the line there is no conflict."


def make(container: dict[str, Any]) -> dict[str, Any]:
    spec = {"containers": [{"name": "web", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def conflict(manifest: dict[str, Any], live: dict[str, Any]) -> PlannedObject:
    versions = Versions(manifest=make(manifest), live=make(live))
    return PlannedObject(ObjectRef.from_object(make({})), Operation.BLOCKED, versions)


@pytest.mark.parametrize(
    ("manifest", "live", "path", "text"),
    [
        ({"resources": {"limits": {"cpu": "1000m"}}}, {"resources": {"limits": {"cpu": 1}}}, CPU, SPELLED),
        ({"resources": {"limits": {"cpu": "1001m"}}}, {"resources": {"limits": {"cpu": 1}}}, CPU, ""),
        ({"stdin": False}, {}, STDIN, LEFT_OUT),
        ({"stdin": True}, {}, STDIN, ""),
        ({}, {"stdin": True}, STDIN, ""),
    ],
)
def test_equal_values_are_named(manifest: dict[str, Any], live: dict[str, Any], path: FieldPath, text: str) -> None:
    change = conflict(manifest, live)

    assert (describe_equal_values(change, path), is_equal_to_live(change, path)) == (text, bool(text))
