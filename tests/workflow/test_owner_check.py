"""Are owners compared with what was promised, in both directions, and nothing else?"""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.workflow.plans.owner_check import find_wrong_owners, states_owners

KIND = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))


def entry(manager: str, *keys: str, operation: str = "Apply", subresource: str = "", **metadata: Any) -> dict[str, Any]:
    fields = {"f:data": {f"f:{key}": {} for key in keys}} if keys else {}
    fields |= {"f:metadata": {f"f:{name}": value for name, value in metadata.items()}} if metadata else {}
    found = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**found, "fieldsV1": fields} | ({"subresource": subresource} if subresource else {})


def config(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"managedFields": list(entries)}, "data": {"x": "1", "y": "1"}}


def wrong(
    promised: dict[str, Any], got: dict[str, Any], **more: Any
) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    given = {"manager": "applyviz", "root": KIND.root, "is_confirmed": True, **more}
    return [(render_path(d.path), d.promised, d.got) for d in find_wrong_owners(promised, got, **given)]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_owner_that_is_missing_and_one_too_many_are_found(is_confirmed):
    one, two = config(entry("applyviz", "x")), config(entry("applyviz", "x"), entry("ci", "x"))

    assert wrong(one, one, is_confirmed=is_confirmed) == []
    assert wrong(two, one, is_confirmed=is_confirmed) == [
        (".data.x", ("applyviz (Apply)", "ci (Apply)"), ("applyviz (Apply)",))
    ]
    assert wrong(one, two, before=two, is_confirmed=is_confirmed) == [
        (".data.x", ("applyviz (Apply)",), ("applyviz (Apply)", "ci (Apply)"))
    ]


def test_ownership_that_did_not_move_is_found():
    before = config(entry("kubectl-client-side-apply", "x", "y", operation="Update"))

    assert wrong(config(entry("applyviz", "x")), before, before=before) == [
        (".data.x", ("applyviz (Apply)",), ("kubectl-client-side-apply (Update)",)),
        (".data.y", (), ("kubectl-client-side-apply (Update)",)),
    ]


def test_apply_and_update_of_one_manager_are_two_owners():
    found = wrong(config(entry("applyviz", "x")), config(entry("applyviz", "x", operation="Update")))

    assert found == [(".data.x", ("applyviz (Apply)",), ("applyviz (Update)",))]


@pytest.mark.parametrize(
    "other",
    [
        entry("kube-controller-manager", "z", operation="Update"),
        entry("kube-controller-manager", "x", operation="Update", subresource="status"),
        entry("applyviz", annotations={".": {}}, operation="Apply"),
    ],
)
def test_what_is_of_others_and_who_made_a_shared_map_do_not_count(other):
    promised = config(entry("applyviz", "x"))

    assert wrong(promised, config(entry("applyviz", "x"), other)) == []


def test_fields_that_a_server_adds_beside_an_estimate_do_not_count():
    promised, got = config(entry("applyviz", "x")), config(entry("applyviz", "x", "z"))

    assert wrong(promised, got, is_confirmed=False) == []
    assert wrong(promised, got) == [(".data.z", (), ("applyviz (Apply)",))]


def test_after_others_wrote_only_owners_that_the_plan_moves_count():
    before = config(entry("applyviz", "y"), entry("ci", "x", "y"))
    promised = config(entry("applyviz", "x", "y"), entry("ci", "y"))

    assert wrong(promised, config(entry("applyviz", "x")), before=before, has_moved=True) == []
    assert wrong(promised, before, before=before, has_moved=True) == [
        (".data.x", ("applyviz (Apply)",), ("ci (Apply)",))
    ]


def test_plan_without_entries_states_no_owners():
    assert not states_owners(config())
    assert states_owners(config(entry("applyviz", "x")))
