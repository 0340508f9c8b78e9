"""Are calculated answers those of an API server, as far as they go?"""

from __future__ import annotations

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema, SchemaOrigin
from tests.engine.planning.cluster import NOW

GVK = GroupVersionKind("", "v1", "ConfigMap")
QUERY = {"fieldManager": "m"}


def rehearse(live=None) -> EstimatedAnswers:
    return EstimatedAnswers(bundled().find_kind(GVK), NOW, live)


def config(**more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **more}


def patch(body, content_type, **query):
    return Request("PATCH", "/p", {**QUERY, **query}, content_type, body)


def test_absent_object_is_not_found_and_not_patched():
    answerer = rehearse()

    assert answerer.answer(Request("GET", "/p")).status == 404
    assert answerer.answer(patch({"data": {}}, MERGE_PATCH)).status == 404


def test_create_books_an_update():
    answer = rehearse().answer(Request("POST", "/p", QUERY, body=config(data={"x": "1"})))

    (entry,) = answer.body["metadata"]["managedFields"]
    assert answer.status == 201
    assert (entry["manager"], entry["operation"], entry["time"]) == ("m", "Update", NOW)


def test_apply_creates_without_empty_values_that_nobody_asked_for():
    gvk = GroupVersionKind("apps", "v1", "Deployment")
    answerer = EstimatedAnswers(bundled().find_kind(gvk), NOW)
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "resourceVersion": "1"}}

    answer = answerer.answer(patch({**body, "spec": {"template": {}}}, APPLY_PATCH))

    found = {k: v for k, v in answer.body["metadata"].items() if k != "managedFields"}
    assert (answer.status, found) == (201, {"name": "d"})
    assert answer.body["spec"] == {"template": {}}
    assert "status" not in answer.body


def test_conflict_answers_with_a_cause_per_field():
    answerer = rehearse()
    answerer.answer(patch(config(data={"x": "1"}), APPLY_PATCH, fieldManager="other"))

    answer = answerer.answer(patch(config(data={"x": "2"}), APPLY_PATCH))

    assert (answer.status, answer.reason) == (409, "Conflict")
    assert [(c["reason"], c["field"]) for c in answer.body["details"]["causes"]] == [
        ("FieldManagerConflict", ".data.x")
    ]
    assert answerer.live["data"] == {"x": "1"}


def test_object_that_does_not_fit_its_schema_is_refused():
    answer = rehearse().answer(patch(config(nonsense=1), APPLY_PATCH))

    assert (answer.status, "field not declared in schema" in answer.message) == (500, True)


def test_patch_that_cannot_be_applied_is_refused():
    answerer = rehearse(config())

    assert answerer.answer(patch([{"op": "remove", "path": "/nowhere"}], JSON_PATCH)).status == 422
    assert answerer.answer(patch({}, "text/plain")).status == 415


def test_managed_fields_are_dropped_where_the_server_drops_them():
    answerer = rehearse(config(metadata={"name": "a", "managedFields": []}, data={"x": "1"}))

    answer = answerer.answer(patch({"data": {"y": {"not": "text"}}}, MERGE_PATCH))

    assert "managedFields" not in answer.body["metadata"]


def test_deleted_object_is_gone():
    answerer = rehearse(config())

    assert answerer.answer(Request("DELETE", "/p")).is_ok
    assert answerer.answer(Request("GET", "/p")).status == 404


def test_unknown_kind_takes_anything():
    kind = KindSchema(GroupVersionKind("x.example.org", "v1", "Any"), None, SchemaOrigin.NONE, is_custom=True)
    body = {"apiVersion": "x.example.org/v1", "kind": "Any", "metadata": {"name": "a"}, "deep": [{"a": 1}]}

    answer = EstimatedAnswers(kind, NOW).answer(patch(body, APPLY_PATCH))

    assert (answer.status, answer.body["deep"]) == (201, [{"a": 1}])
