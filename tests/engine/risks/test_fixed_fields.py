"""The table of immutable fields against the real server: each change it was asked, and whether it refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.risks.deletions import find_losses, find_unfiled
from applyviz.engine.risks.immutable import find
from applyviz.engine.risks.kept_values import DEFAULTS
from applyviz.engine.risks.model import RiskSubject
from applyviz.kubernetes.parity.decoding import decode
from applyviz.kubernetes.parity.go_types import go_types
from applyviz.kubernetes.v1_36.defaults import apply_defaults
from tests.controlplane.fixed_fields import put

RECORDED = Path(__file__).resolve().parents[2] / "cases" / "risks" / "fixed-fields.json"
OBJECTS = [
    pytest.param(each["live"], each["changes"], id=f"{each['live']['kind']}-{each['live']['metadata']['name']}")
    for each in json.loads(RECORDED.read_text(encoding="utf-8"))
]


def find_fields(live, result):
    subject = RiskSubject(ObjectRef.from_object(live), manifest=result, live=live, merged=result, after=result)
    return [risk.facts["field"] for risk in find(subject)]


@pytest.mark.parametrize(
    ("kind", "declared"), DEFAULTS.items(), ids=lambda one: one[1] if isinstance(one, tuple) else ""
)
def test_dropped_field_gets_the_default_of_the_server(kind, declared):
    struct = go_types().find_kind(GroupVersionKind(kind[0], "v1", kind[1]))
    empty = {"apiVersion": "v1", "kind": kind[1], **({"spec": {}} if "spec" in struct.fields else {})}

    filled = apply_defaults(decode(empty, struct).obj, struct)

    # The priority of a pod is given to it by admission.
    expected = {where: value for where, value in declared.items() if where != ("spec", "preemptionPolicy")}
    assert {where: get_at(filled, where) for where in expected} == expected


@pytest.mark.parametrize(("live", "changes"), OBJECTS)
def test_change_is_a_risk_when_the_server_refuses_it(live, changes):
    told = {change["field"]: bool(find_fields(live, put(live, change["field"], change["value"]))) for change in changes}

    assert told == {change["field"]: bool(change["refused"]) for change in changes}


def test_bound_claim_may_grow():
    live = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "a"},
        "status": {"phase": "Bound"},
    }
    live["spec"] = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}

    assert find_fields(live, put(live, "spec.resources.requests.storage", "2Gi")) == []
    assert find_fields(live, put(live, "spec.volumeName", "w")) == ["spec.volumeName"]


def test_pod_that_is_killed_at_once_may_get_a_second():
    live = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"terminationGracePeriodSeconds": -1}}

    assert find_fields(live, put(live, "spec.terminationGracePeriodSeconds", 1)) == []


def test_job_that_loses_its_parallelism_gets_completions():
    """The server sets both to 1 where neither is given, and refuses completions that the Job did not have."""
    live = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": 2}}

    assert find_fields(live, put(live, "spec", {})) == ["spec.completions"]
    assert find_fields(live, put(live, "spec.parallelism", 1)) == []
    live["spec"]["completions"] = 0
    assert find_fields(live, put(live, "spec", {"completions": 0})) == []


def test_object_without_spec_has_nothing_that_is_fixed():
    live = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}}

    assert find_fields(live, put(live, "spec", {"serviceName": "b"})) == []


def test_addresses_may_be_added():
    live = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "a"},
        "spec": {"cidrs": ["10.0.0.0/16"]},
    }

    assert find_fields(live, put(live, "spec.cidrs", ["10.0.0.0/16", "fd00::/112"])) == []


def list_paths(value, path=()):
    """The path of each field, those of list entries included."""
    if isinstance(value, dict | list):
        for name, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, str(name))
            yield from list_paths(below, (*path, str(name)))


@pytest.mark.parametrize(("live", "changes"), OBJECTS)
def test_value_of_another_type_is_no_error(live, changes):
    """The server refuses it; until then a manifest may hold anything anywhere."""
    for path in list_paths({k: v for k, v in live.items() if k not in ("apiVersion", "kind", "metadata")}):
        for odd in ([{}, ["a"]], {"a": []}, "text", 5):
            wrong = put(live, ".".join(path), odd)
            assert isinstance(find_fields(live, wrong), list)
            assert without_chosen(wrong, wrong, live)["kind"] == live["kind"]
            assert isinstance(list(find_unfiled({"kind": live["kind"], "name": "fx"}, live, wrong)), list)
            ref = ObjectRef.from_object(live)
            assert isinstance(list(find_losses(ref, live, wrong, is_foreground=True, seconds=1)), list)
