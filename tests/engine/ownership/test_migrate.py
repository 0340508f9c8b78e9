"""The way back from server-side to client-side apply, and both ways together."""

from __future__ import annotations

from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.ownership.migrate import downgrade, find_owners, upgrade

ANNOTATION = {"f:annotations": {LAST_APPLIED_PATH[-1]: {}}}


def make_entry(manager, operation, owned, **more):
    head = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**head, "fieldsV1": owned, **more}


def make_object(*entries):
    return {"metadata": {"managedFields": list(entries)}}


def test_apply_entry_becomes_the_client_side_entry():
    other = make_entry("helm", "Update", {"f:data": {}})
    obj = make_object(make_entry("kubectl", "Apply", {"f:spec": {}}, time="2026-01-01T00:00:00Z"), other)

    assert downgrade(obj, manager="kubectl") == [
        make_entry("kubectl-client-side-apply", "Update", {"f:spec": {}}, time="2026-01-01T00:00:00Z"),
        other,
    ]


def test_fields_join_the_entry_that_is_there():
    old = make_entry("csa", "Update", {"f:a": {}}, time="2026-01-01T00:00:00Z")
    mine = make_entry("kubectl", "Apply", {"f:b": {}}, time="2026-01-02T00:00:00Z")

    joined = make_entry("csa", "Update", {"f:a": {}, "f:b": {}}, time="2026-01-02T00:00:00Z")
    assert downgrade(make_object(mine, old), manager="kubectl", csa_manager="csa") == [joined]


def test_entries_without_time_stay_without():
    entries = [make_entry("csa", "Update", {"f:a": {}}), make_entry("kubectl", "Apply", {"f:b": {}})]

    (joined,) = downgrade(make_object(*entries), manager="kubectl", csa_manager="csa")

    assert "time" not in joined


def test_nothing_to_take_back():
    entries = [make_entry("kubectl", "Apply", {"f:b": {}}, subresource="status")]

    assert downgrade(make_object(*entries), manager="kubectl") == entries
    assert downgrade({}, manager="kubectl") == []


def test_there_and_back_again():
    csa = make_entry("kubectl-client-side-apply", "Update", {"f:metadata": ANNOTATION, "f:data": {}})

    there = upgrade(make_object(csa), manager="kubectl")
    back = downgrade(make_object(*there), manager="kubectl")

    assert [(e["manager"], e["operation"]) for e in there] == [("kubectl", "Apply")]
    assert back == [csa]
    assert find_owners(make_object(*back)) == ("kubectl-client-side-apply",)
