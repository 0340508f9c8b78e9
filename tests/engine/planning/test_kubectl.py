"""What kubectl would send for an object that a plan knows."""

from __future__ import annotations

import pytest

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.planning.simulation.kubectl import list_kubectl_writes
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled

GVK = GroupVersionKind("", "v1", "ConfigMap")
RESOURCE, KIND = bundled().find_resource(GVK), bundled().find_kind(GVK)
MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "2"}}
LIVE = last_applied.attach(
    {**MANIFEST, "metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "1"}, "data": {"x": "1"}}
)


def make_change(**versions):
    return PlannedObject(ObjectRef(GVK, "shop", "a"), Operation.UPDATE, Versions(**versions))


def list_writes(change, mode=ApplyMode.CLIENT, kind=KIND):
    options = ApplyOptions(mode=mode, field_manager="me", namespace="shop")
    found = list_kubectl_writes(change, options=options, resource=RESOURCE, kind=kind)
    return found and [(r.method, r.path, r.query.get("force"), r.placeholders) for r in found]


def test_absent_object_is_created_in_its_namespace():
    assert list_writes(make_change(manifest=MANIFEST)) == [("POST", "/api/v1/namespaces/shop/configmaps", None, ())]


def test_changed_object_is_patched_without_preconditions():
    found = list_writes(make_change(manifest=MANIFEST, live=LIVE))

    assert found == [("PATCH", "/api/v1/namespaces/shop/configmaps/a", None, ())]


@pytest.mark.parametrize("force", ["true", "false"])
def test_force_is_asked_for_when_the_plan_does(force):
    sent = Request("PATCH", "/x", {"force": force}, APPLY_PATCH, {})
    change = replace(make_change(manifest=MANIFEST), requests=(sent,))

    assert list_writes(change, ApplyMode.SERVER, None) == [("PATCH", "/api/v1/namespaces/shop/configmaps/a", force, ())]


def test_object_without_manifest_or_with_a_broken_annotation_gives_none():
    broken = {**LIVE, "metadata": {**LIVE["metadata"], "annotations": {LAST_APPLIED: "{"}}}

    assert list_writes(make_change(live=LIVE)) is None
    assert list_writes(make_change(manifest=MANIFEST, live=broken)) is None


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_object_of_the_whole_cluster_is_sent_without_a_namespace(mode):
    gvk = GroupVersionKind("", "v1", "Namespace")
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    change = PlannedObject(ObjectRef(gvk, "", "shop"), Operation.CREATE, Versions(manifest=manifest))

    writes = list_kubectl_writes(
        change, options=ApplyOptions(mode=mode), resource=bundled().find_resource(gvk), kind=bundled().find_kind(gvk)
    )

    assert writes is not None
    (request,) = writes
    assert request.path.startswith("/api/v1/namespaces")
    assert "namespace" not in request.body["metadata"]
