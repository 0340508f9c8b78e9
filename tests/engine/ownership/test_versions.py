"""Entries of other versions of one object."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import ConflictError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership import server_side, updates
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.engine.schema.builtin import bundled

CONVERTED = {
    v: bundled().find_kind(GroupVersionKind("autoscaling", v, "HorizontalPodAutoscaler")) for v in ("v1", "v2")
}
# As a kind of two versions between which nothing converts.
AUTOSCALER = replace(CONVERTED["v2"], version_roots={})
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
NOW = "2026-01-01T00:00:00Z"


def make_autoscaler(maximum, entries=()):
    metadata = {"name": "web", "managedFields": list(entries)} if entries else {"name": "web"}
    obj = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata}
    return {**obj, "spec": {"maxReplicas": maximum, "scaleTargetRef": {"kind": "Deployment", "name": "web"}}}


def make_entry(api_version, operation="Update"):
    return {
        "manager": "old",
        "operation": operation,
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:maxReplicas": {}}},
    }


def test_entry_of_another_served_version_is_kept_as_it_is():
    live = make_autoscaler(3, [make_entry("autoscaling/v1")])

    applied = server_side.apply(live, make_autoscaler(5), kind=AUTOSCALER, manager="alice", now="2026-01-01T00:00:00Z")
    entries = updates.update(live, make_autoscaler(7), kind=AUTOSCALER, manager="bob", now="2026-01-01T00:00:00Z")

    assert make_entry("autoscaling/v1") in applied.result["metadata"]["managedFields"]
    assert make_entry("autoscaling/v1") in entries


def test_own_entry_of_another_served_version_removes_nothing():
    live = make_autoscaler(3, [{**make_entry("autoscaling/v1", "Apply"), "manager": "alice"}])
    intent = make_autoscaler(3)
    del intent["spec"]["maxReplicas"]

    applied = server_side.apply(live, intent, kind=AUTOSCALER, manager="alice", now="2026-01-01T00:00:00Z")

    assert applied.result["spec"]["maxReplicas"] == 3


def test_kept_entries_take_no_part_in_a_removal():
    mine = {**make_entry("autoscaling/v2", "Apply"), "manager": "alice"}
    live = make_autoscaler(3, [mine, make_entry("autoscaling/v1")])
    intent = make_autoscaler(3)
    del intent["spec"]["maxReplicas"]

    applied = server_side.apply(live, intent, kind=AUTOSCALER, manager="alice", now="2026-01-01T00:00:00Z")

    assert "maxReplicas" not in applied.result["spec"]


def test_entry_of_a_version_that_is_gone_is_dropped():
    live = make_autoscaler(3, [make_entry("autoscaling/v2beta1")])
    kind = replace(AUTOSCALER, served_versions=("v2",))

    entries = updates.update(live, make_autoscaler(7), kind=kind, manager="bob", now="2026-01-01T00:00:00Z")

    assert [e["manager"] for e in entries] == ["bob"]


def test_entries_of_many_versions_are_not_folded_into_each_other():
    versions = tuple(f"v{n}" for n in range(2, 14))
    live = make_autoscaler(3, [make_entry(f"autoscaling/{v}") for v in versions])
    kind = replace(AUTOSCALER, served_versions=versions)

    entries = updates.update(live, make_autoscaler(7), kind=kind, manager="bob", now="2026-01-01T00:00:00Z")

    assert [e["manager"] for e in entries].count("old") == 11  # that of v2 lost its only field


def apply_metrics():
    """An autoscaler that `alice` applied at autoscaling/v2."""
    intent = make_autoscaler(5)
    intent["spec"]["metrics"] = [CPU]
    return server_side.apply(None, intent, kind=CONVERTED["v2"], manager="alice", now=NOW).result


def at_v1(obj, **spec):
    obj = convert_autoscaler(obj, "v1")
    return {**obj, "spec": {**obj["spec"], **spec}}


def test_autoscaler_applied_at_another_version_conflicts_at_the_owner_s_version():
    live = at_v1(apply_metrics())
    intent = at_v1(make_autoscaler(6), targetCPUUtilizationPercentage=60)

    with pytest.raises(ConflictError) as caught:
        server_side.apply(live, intent, kind=CONVERTED["v1"], manager="bob", now=NOW)

    found = [(c.api_version, c.field) for c in caught.value.conflicts]
    assert found == [("autoscaling/v2", ".spec.maxReplicas"), ("autoscaling/v2", ".spec.metrics")]


def test_autoscaler_updated_at_another_version_takes_what_that_version_changed():
    live = at_v1(apply_metrics())

    entries = updates.update(
        live, at_v1(live, targetCPUUtilizationPercentage=60), kind=CONVERTED["v1"], manager="bob", now=NOW
    )

    owned = {e["manager"]: e["fieldsV1"]["f:spec"] for e in entries}
    assert owned["bob"] == {"f:targetCPUUtilizationPercentage": {}}
    assert "f:metrics" not in owned["alice"]
    assert "f:maxReplicas" in owned["alice"]


def test_metrics_stay_when_their_owner_applies_at_v1_without_them():
    live = at_v1(apply_metrics())

    result = server_side.apply(live, at_v1(make_autoscaler(6)), kind=CONVERTED["v1"], manager="alice", now=NOW).result

    assert convert_autoscaler(result, "v2")["spec"]["metrics"] == [CPU]
    assert [sorted(e["fieldsV1"]["f:spec"]) for e in result["metadata"]["managedFields"]] == [
        ["f:maxReplicas", "f:scaleTargetRef"]
    ]


def test_target_stays_when_its_owner_applies_at_v2_without_metrics():
    intent = at_v1(make_autoscaler(5), targetCPUUtilizationPercentage=50)
    live = server_side.apply(None, intent, kind=CONVERTED["v1"], manager="alice", now=NOW).result

    at_v2 = convert_autoscaler(live, "v2")
    result = server_side.apply(at_v2, make_autoscaler(6), kind=CONVERTED["v2"], manager="alice", now=NOW).result

    assert (result["spec"]["maxReplicas"], result["spec"]["metrics"]) == (6, [CPU])


def test_version_of_another_group_is_no_version_of_the_autoscaler():
    live = make_autoscaler(3, [make_entry("apps/v1")])

    entries = updates.update(live, make_autoscaler(7), kind=CONVERTED["v2"], manager="bob", now=NOW)

    assert [e["manager"] for e in entries] == ["bob"]
