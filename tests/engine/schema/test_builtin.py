"""The bundled documents: kinds, resources, empty objects."""

from __future__ import annotations

import subprocess
import sys

import pytest

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled, find_zero
from applyviz.engine.schema.discovery import read_discovery
from applyviz.engine.schema.model import ListType, MapType, SchemaOrigin

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def get_kind(group, version, kind):
    found = bundled().find_kind(GroupVersionKind(group, version, kind))
    assert found is not None
    return found


def test_import_loads_no_data():
    code = "from applyviz.engine.schema import builtin as b; b.bundled(); print(b.load_bundled.cache_info().currsize)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "0"


def test_kind_is_read_once():
    assert bundled().find_kind(DEPLOYMENT) is bundled().find_kind(DEPLOYMENT)


def test_kind_carries_what_both_ways_of_applying_ask():
    pod = get_kind("apps", "v1", "Deployment").root.child("spec").child("template").child("spec")
    containers = pod.child("containers")
    ports = containers.items.child("ports")

    assert (containers.list_type, containers.list_map_keys) == (ListType.MAP, ("name",))
    assert (containers.patch_strategy, containers.patch_merge_key) == (("merge",), "name")
    assert (ports.list_map_keys, ports.items.child("protocol").default) == (("containerPort", "protocol"), "TCP")
    assert pod.child("volumes").patch_strategy == ("merge", "retainKeys")
    assert pod.child("nodeSelector").map_type is MapType.ATOMIC
    assert containers.items.child("image").description.startswith("Container image name.")
    assert containers.items.required == ("name",)
    assert containers.items.child("imagePullPolicy").enum == ("Always", "IfNotPresent", "Never")


def test_field_is_declared_or_not():
    root = get_kind("", "v1", "ConfigMap").root

    assert root.has_field("data")
    assert not root.has_field("spec")
    assert root.child("spec") is None
    assert root.child("data").child("anything").type == "string"
    assert root.child("data").additional.type == "string"


@pytest.mark.parametrize(
    ("gvk", "strategic", "alternatives"),
    [
        (DEPLOYMENT, True, ["openapi-v2", "builtin"]),
        (GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), True, ["openapi-v2"]),
    ],
)
def test_kind_says_which_patches_it_takes(gvk, strategic, alternatives):
    kind = bundled().find_kind(gvk)

    assert (kind.is_strategic, kind.is_custom, kind.origin) == (strategic, False, SchemaOrigin.BUNDLED)
    assert [name for name, _ in kind.alternatives] == alternatives


def test_openapi_v2_knows_quantities_as_strings():
    kind = get_kind("", "v1", "Pod")
    (_, old), _ = kind.alternatives

    limits = [r.child("spec").child("containers").items.child("resources").child("limits") for r in (kind.root, old)]

    assert [node.additional.type for node in limits] == ["", "string"]


@pytest.mark.parametrize(
    ("group", "version", "kind", "main", "status"),
    [
        ("apps", "v1", "StatefulSet", ["status"], [["spec"]]),
        ("apps", "v1", "Deployment", ["status"], [["spec"], ["metadata", "labels"]]),
        ("resource.k8s.io", "v1", "ResourceClaim", ["status"], [["spec"], ["metadata"]]),
    ],
)
def test_writes_leave_fields_out_of_ownership(group, version, kind, main, status):
    resets = get_kind(group, version, kind).reset_fields
    api_version = f"{group}/{version}"

    assert resets[("", api_version)] == (fields(*main),)
    assert resets[("status", api_version)] == tuple(fields(*path) for path in status)


def test_kind_without_status_leaves_nothing_out():
    kind = get_kind("", "v1", "ConfigMap")

    assert (kind.has_status, kind.reset_fields) == (False, {})


def test_other_subresources_leave_fields_out():
    assert get_kind("", "v1", "Namespace").reset_fields[("finalize", "v1")] == (fields("status"),)


def test_kind_knows_its_served_versions():
    assert get_kind("autoscaling", "v1", "HorizontalPodAutoscaler").served_versions == ("v2", "v1")


def test_unknown_kind_is_none():
    gvk = GroupVersionKind("example.com", "v1", "Widget")

    assert (bundled().find_kind(gvk), bundled().find_resource(gvk)) == (None, None)
    assert (bundled().find_preferred("example.com", "Widget"), find_zero(gvk)) == (None, {})


def test_empty_value_has_the_structs_of_the_kind():
    assert find_zero(DEPLOYMENT)["spec"]["template"] == {"metadata": {}, "spec": {"containers": None}}
    assert get_kind("apps", "v1", "Deployment").zero == find_zero(DEPLOYMENT)


def test_resource_says_how_a_kind_is_addressed():
    resource = bundled().find_resource(DEPLOYMENT)

    assert resource.path("shop", "web", "scale") == "/apis/apps/v1/namespaces/shop/deployments/web/scale"
    assert (resource.short_names, resource.subresources, resource.categories) == (
        ("deploy",),
        ("scale", "status"),
        ("all",),
    )
    assert "patch" in resource.verbs
    assert bundled().find_preferred("autoscaling", "HorizontalPodAutoscaler").gvk.version == "v2"
    assert bundled().find_resource(GroupVersionKind("", "v1", "Namespace")).is_namespaced is False
    assert len({r.gvk for r in bundled().list_resources()}) == len(bundled().list_resources())


def test_collection_over_all_namespaces_has_a_path():
    assert bundled().find_resource(DEPLOYMENT).path() == "/apis/apps/v1/deployments"
    assert bundled().find_resource(GroupVersionKind("", "v1", "Node")).path(name="a") == "/api/v1/nodes/a"


def test_resources_without_a_kind_are_left_out():
    group = {"metadata": {"name": "x"}, "versions": [{"version": "v1", "resources": [{"resource": "a"}]}]}

    assert read_discovery([{"items": [group]}]) == ()
