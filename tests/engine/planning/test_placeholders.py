"""Is a hole filled, and nothing else?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import StalePlanError
from applyviz.engine.objects.exchange import Placeholder, Request
from applyviz.engine.planning.model.placeholders import fill, show, template

LIVE = {"metadata": {"name": "a", "uid": "u2", "resourceVersion": "8"}}
BODY = {"metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"}, "data": {"x": "1"}}
HOLES = (
    Placeholder(("f:metadata", "f:uid"), "uid"),
    Placeholder(("f:metadata", "f:resourceVersion"), "resourceVersion"),
)
PATCH = Request("PATCH", "/p", {"fieldManager": "kubectl"}, body=BODY, placeholders=HOLES)


def test_template_leaves_holes_open():
    assert template(PATCH).body == {
        "metadata": {"name": "a", "uid": None, "resourceVersion": None},
        "data": {"x": "1"},
    }


def test_fill_takes_holes_from_live_and_leaves_the_rest():
    filled = fill(template(PATCH), LIVE)

    assert filled.body == {"metadata": {"name": "a", "uid": "u2", "resourceVersion": "8"}, "data": {"x": "1"}}
    assert (filled.method, filled.path, filled.query) == (PATCH.method, PATCH.path, PATCH.query)
    assert BODY["metadata"]["uid"] == "u1"


def test_fill_computes_managed_fields_of_a_migration():
    entry = {
        "manager": "kubectl-client-side-apply",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}},
            "f:data": {"f:x": {}},
        },
    }
    live = {**LIVE, "metadata": {**LIVE["metadata"], "managedFields": [entry]}}
    request = Request(
        "PATCH",
        "/p",
        {"fieldManager": "kubectl"},
        body=[{"op": "replace", "value": None}, {"op": "replace", "value": None}],
        placeholders=(
            Placeholder(("i:0", "f:value"), "managedFields"),
            Placeholder(("i:1", "f:value"), "resourceVersion"),
        ),
    )

    managed, version = (operation["value"] for operation in fill(request, live).body)

    assert [(e["manager"], e["operation"]) for e in managed] == [("kubectl", "Apply")]
    assert version == "8"


def test_request_without_holes_needs_no_object():
    request = Request("POST", "/p", body={"a": 1})

    assert fill(request, None) == request


def test_object_that_is_gone_is_stale():
    with pytest.raises(StalePlanError, match="planned against an object that is not there"):
        fill(PATCH, None)


def test_object_without_a_version_is_stale():
    with pytest.raises(StalePlanError, match="no uid to bind"):
        fill(PATCH, {"metadata": {}})


@pytest.mark.parametrize("path", [("i:0",), ("f:data", "f:x", "f:y")])
def test_hole_that_is_nowhere_is_stale(path):
    request = Request("PATCH", "/p", body={"data": {"x": "1"}}, placeholders=(Placeholder(path, "uid"),))

    with pytest.raises(StalePlanError, match="no place"):
        fill(request, LIVE)


def test_hole_without_a_rule_is_stale():
    request = Request("PATCH", "/p", body={}, placeholders=(Placeholder(("f:x",), "moon phase"),))

    with pytest.raises(StalePlanError, match="nothing fills a hole of rule 'moon phase'"):
        fill(request, LIVE)


def test_holes_are_shown_by_their_names():
    shown = show(PATCH).body["metadata"]

    assert shown == {"name": "a", "uid": "⟨uid⟩", "resourceVersion": "⟨resourceVersion⟩"}
