"""Patch documents in the playground: planned as a patch, masked as a patch."""

import pytest
import yaml

from applyviz.engine.explain.reasons import Reason
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import SetAction
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError

NOW = "2026-01-01T00:00:00Z"
LIVE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', z: '2'}}"
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: b2xk}}"


def patch(body, patch_type="merge", kind="ConfigMap", **more):
    target = {"apiVersion": "v1", "kind": kind, "name": "a"}
    return yaml.safe_dump({"kind": "Patch", "target": target, "type": patch_type, "patch": body, **more})


def test_patch_is_calculated_on_the_live_object():
    given = PlaygroundQuery(manifest=patch({"data": {"x": "3"}}), live=LIVE)

    change = playground.explain(given, now=NOW)

    assert (change.operation, change.method) == (Operation.UPDATE, "JSON merge patch")
    assert change.versions.after["data"] == {"x": "3", "z": "2"}
    reasons = {"".join(reason.path): reason.reason for reason in change.fields}
    assert (reasons["f:dataf:x"], reasons["f:dataf:z"]) == (Reason.PATCH_SETS, Reason.NOT_IN_PATCH)
    assert playground.options_for(change, given).action is SetAction.PATCH


def test_patch_of_an_absent_object_is_an_error():
    change = playground.explain(PlaygroundQuery(manifest=patch({"data": {}})), now=NOW)

    assert (change.operation, change.error) == (Operation.ERROR, "not found")


def test_problem_of_a_patch_names_its_line_and_field():
    with pytest.raises(PlaygroundQueryError) as caught:
        playground.explain(PlaygroundQuery(manifest=patch([], "merge"), live=LIVE), now=NOW)

    (problem,) = caught.value.problems
    assert problem.part == "manifest"
    assert "patch must be a map of fields" in problem.reason


@pytest.mark.parametrize(
    ("body", "patch_type", "more"),
    [
        ({"data": {"x": "bmV3"}}, "merge", {}),
        ([{"op": "replace", "path": "/data/x", "value": "bmV3"}], "json", {}),
        ({"data": {"x": "bmV3"}}, "merge", {"subresource": "status"}),
    ],
)
def test_values_of_a_secret_are_masked_and_the_question_stays_a_patch(body, patch_type, more):
    given = PlaygroundQuery(manifest=patch(body, patch_type, "Secret", **more), live=SECRET)

    kept = playground.without_secrets(given)

    assert "bmV3" not in kept.manifest
    assert "b2xk" not in kept.live
    document = yaml.safe_load(kept.manifest)
    assert (document["kind"], document["target"]["kind"], document["type"]) == ("Patch", "Secret", patch_type)
    assert document.get("subresource", "") == more.get("subresource", "")
