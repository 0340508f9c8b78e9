"""Kinds of CustomResourceDefinitions."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import ListType, MapType, SchemaOrigin


def make_crd(schema, *, versions=("v1",), scope="Namespaced", subresources=None, **names):
    listed = [
        {"name": v, "served": v != "v0", "schema": {"openAPIV3Schema": schema}, "subresources": subresources or {}}
        for v in versions
    ]
    if schema is None:
        listed = [{"name": v, "served": True} for v in versions]
    names = {"kind": "Gadget", "plural": "gadgets", **names}
    return {
        "metadata": {"name": "gadgets.x.io"},
        "spec": {"group": "x.io", "scope": scope, "names": names, "versions": listed},
    }


def get_kind(crd, version="v1"):
    return CRDSource([crd]).find_kind(GroupVersionKind("x.io", version, "Gadget"))


def make_spec(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_extensions_are_read():
    spec = make_spec(
        parts={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}},
        },
        tags={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        frozen={"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        port={"x-kubernetes-int-or-string": True},
        maybe={"type": "string", "nullable": True, "enum": ["a"], "format": "date"},
    )
    node = get_kind(make_crd(spec)).root.child("spec")

    assert (node.child("parts").list_type, node.child("parts").list_map_keys) == (ListType.MAP, ("port", "protocol"))
    assert node.child("parts").items.child("protocol").default == "TCP"
    assert node.child("tags").list_type is ListType.SET
    assert (node.child("frozen").map_type, node.child("frozen").child("x").type) == (MapType.ATOMIC, "string")
    assert (node.child("free").preserves_unknown, node.child("free").allows_unknown) == (True, True)
    assert (node.child("port").is_int_or_string, node.child("port").type) == (True, "")
    maybe = node.child("maybe")
    assert (maybe.is_nullable, maybe.enum, maybe.format, maybe.has_default) == (True, ("a",), "date", False)


def test_metadata_is_that_of_all_objects():
    root = get_kind(make_crd(make_spec())).root

    assert root.child("metadata").child("finalizers").list_type is ListType.SET
    assert root.child("kind").type == "string"


def test_embedded_resource_gets_type_and_metadata():
    spec = make_spec(template={"type": "object", "x-kubernetes-embedded-resource": True})
    template = get_kind(make_crd(spec)).root.child("spec").child("template")

    assert template.is_embedded_resource
    assert sorted(template.properties) == ["apiVersion", "kind", "metadata"]


def test_patch_strategy_means_nothing_in_a_definition():
    spec = make_spec(a={"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"})

    assert get_kind(make_crd(spec)).root.child("spec").child("a").patch_strategy == ()


def test_version_without_schema_takes_anything():
    root = get_kind(make_crd(None)).root

    assert (root.type, dict(root.properties)) == ("object", {})


def test_status_leaves_fields_out_by_version():
    kind = get_kind(make_crd(make_spec(), versions=("v1", "v1beta1"), subresources={"status": {}, "scale": {}}))

    assert kind.has_status
    assert not kind.is_strategic
    assert kind.is_custom
    assert kind.zero == {"apiVersion": "x.io/v1", "kind": "Gadget"}
    assert sorted(kind.version_roots) == ["v1", "v1beta1"]
    assert kind.reset_fields == {
        ("", "x.io/v1"): (fields("status"),),
        ("status", "x.io/v1"): (fields("metadata"), fields("spec")),
        ("status", "x.io/v1beta1"): (fields("metadata"), fields("spec")),
    }


def test_versions_are_preferred_as_kubernetes_does():
    versions = ("foo", "v1alpha1", "v1beta2", "v2", "v10", "v1beta10", "v0")
    source = CRDSource([make_crd(make_spec(), versions=versions)], origin=SchemaOrigin.SOURCE_CRD)

    listed = [r.gvk.version for r in source.list_resources()]

    assert listed == ["v10", "v2", "v1beta10", "v1beta2", "v1alpha1", "foo"]  # v0 is not served
    assert source.find_preferred("x.io", "Gadget").gvk.version == "v10"
    assert source.find_kind(GroupVersionKind("x.io", "v0", "Gadget")).origin is SchemaOrigin.SOURCE_CRD


@pytest.mark.parametrize("odd", ["v\xb2", "v1beta\xb2", "v" + "1" * 5000])
def test_version_with_other_digits_has_no_rank(odd):
    source = CRDSource([make_crd(make_spec(), versions=(odd, "v1alpha1"))])

    assert [r.gvk.version for r in source.list_resources()] == ["v1alpha1", odd]


def test_resource_has_the_names_of_the_definition():
    source = CRDSource([make_crd(make_spec(), scope="Cluster", shortNames=["g"], categories=["all"])])
    resource = source.find_resource(GroupVersionKind("x.io", "v1", "Gadget"))

    assert (resource.plural, resource.singular, resource.is_namespaced) == ("gadgets", "gadget", False)
    assert (resource.short_names, resource.categories, resource.subresources) == (("g",), ("all",), ())


def test_other_kinds_and_versions_are_none():
    source = CRDSource([make_crd(make_spec())])

    assert source.find_kind(GroupVersionKind("x.io", "v9", "Gadget")) is None
    assert source.find_kind(GroupVersionKind("y.io", "v1", "Gadget")) is None


@pytest.mark.parametrize("crd", [{}, {"spec": {}}, {"spec": {"names": {"plural": "x"}}}])
def test_definition_without_a_kind_is_an_error(crd):
    with pytest.raises(SchemaError):
        CRDSource([crd])


def test_unknown_list_type_is_an_error():
    spec = make_spec(a={"type": "array", "items": {}, "x-kubernetes-list-type": "bag"})

    with pytest.raises(SchemaError, match="x-kubernetes-list-type: expected one of atomic, set, map, got 'bag'"):
        get_kind(make_crd(spec)).root.child("spec").child("a")


def test_broken_property_is_an_unknown_field():
    assert get_kind(make_crd(make_spec(a=5))).root.child("spec").child("a") is None


def test_schema_nested_too_deeply_is_an_error():
    schema = {"type": "string"}
    for _ in range(5_000):
        schema = {"type": "object", "properties": {"a": schema}}

    with pytest.raises(SchemaError, match="nested too deeply"):
        get_kind(make_crd(schema))
