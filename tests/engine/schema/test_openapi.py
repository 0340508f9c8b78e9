"""Kinds of a cluster's OpenAPI documents, and sources asked in order."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.openapi import OpenAPISource
from applyviz.engine.schema.sources import SourceChain

GADGET = GroupVersionKind("x.io", "v1", "Gadget")
NAMED = {"group": "x.io", "version": "v1", "kind": "Gadget"}


def make_document(*, patches=("application/merge-patch+json",), status=True):
    patch = {"x-kubernetes-group-version-kind": NAMED, "requestBody": {"content": {p: {} for p in patches}}}
    path = "/apis/x.io/v1/namespaces/{namespace}/gadgets/{name}"
    paths = {path: {"patch": patch}, "/apis/x.io/v1/": {"get": {}}}
    if status:
        paths[path + "/status"] = {"patch": patch}
    spec = {"allOf": [{"$ref": "#/components/schemas/io.x.Spec"}], "default": {}, "description": "What is wanted."}
    root = {"type": "object", "properties": {"spec": spec}, "x-kubernetes-group-version-kind": [NAMED]}
    inner = {
        "type": "object",
        "description": "A spec.",
        "properties": {"self": {"$ref": "#/components/schemas/io.x.Spec"}},
    }
    return {"paths": paths, "components": {"schemas": {"io.x.Gadget": root, "io.x.Spec": inner}}}


def test_custom_kind_is_known_by_its_patches():
    kind = OpenAPISource({"apis/x.io/v1": make_document()}).find_kind(GADGET)

    assert (kind.is_custom, kind.is_strategic, kind.has_status) == (True, False, True)
    assert kind.origin is SchemaOrigin.CLUSTER_OPENAPI
    assert kind.zero == {"apiVersion": "x.io/v1", "kind": "Gadget"}
    assert ("status", "x.io/v1") in kind.reset_fields


def test_custom_kind_without_status_leaves_nothing_out():
    source = OpenAPISource({"apis/x.io/v1": make_document(status=False)})
    kind = source.find_kind(GADGET)

    assert (kind.is_custom, kind.reset_fields) == (True, {})
    assert source.find_kind(GADGET) is kind


def test_kind_with_strategic_patches_is_no_custom_one():
    document = make_document(patches=("application/strategic-merge-patch+json",), status=False)
    kind = OpenAPISource({"apis/x.io/v1": document}).find_kind(GADGET)

    assert (kind.is_custom, kind.is_strategic, kind.has_status, kind.reset_fields) == (False, True, False, {})


def test_custom_kind_is_known_at_all_versions_that_are_described():
    beta = json.loads(json.dumps(make_document()).replace('"v1"', '"v1beta1"'))
    documents = {"apis/x.io/v1": make_document(), "apis/x.io/v1beta1": beta, "apis/x.io/v2": {}, "apis/y.io/v1": {}}

    kind = OpenAPISource(documents).find_kind(GADGET)

    assert kind.served_versions == ("v1", "v1beta1")
    assert {version: root.child("spec").type for version, root in kind.version_roots.items()} == {
        "v1": "object",
        "v1beta1": "object",
    }


def test_custom_kind_leaves_out_the_same_fields_as_its_definition():
    beta = json.loads(json.dumps(make_document()).replace('"v1"', '"v1beta1"'))
    versions = [{"name": name, "subresources": {"status": {}}} for name in ("v1", "v1beta1")]
    crd = {"spec": {"group": "x.io", "names": {"kind": "Gadget", "plural": "gadgets"}, "versions": versions}}

    kind = OpenAPISource({"apis/x.io/v1": make_document(), "apis/x.io/v1beta1": beta}).find_kind(GADGET)

    assert kind.reset_fields == CRDSource([crd]).find_kind(GADGET).reset_fields
    assert kind.version_roots.keys() == {"v1", "v1beta1"}


def test_reference_is_followed_and_overridden():
    spec = OpenAPISource({"apis/x.io/v1": make_document()}).find_kind(GADGET).root.child("spec")

    assert (spec.definition, spec.description, spec.has_default) == ("io.x.Spec", "What is wanted.", True)
    assert spec.child("self").child("self").description == "A spec."


def test_kinds_without_a_document_are_unknown():
    source = OpenAPISource({"apis/x.io/v1": make_document()})

    assert source.find_kind(GroupVersionKind("y.io", "v1", "Gadget")) is None
    assert source.find_kind(GroupVersionKind("x.io", "v1", "Other")) is None
    assert source.find_kind(GroupVersionKind("", "v1", "Pod")) is None


@pytest.mark.parametrize("spec", [{"$ref": "#/components/schemas/gone"}, {"$ref": "#/components/schemas/io.x.Loop"}])
def test_reference_that_leads_nowhere_is_an_error(spec):
    document = make_document()
    document["components"]["schemas"]["io.x.Gadget"]["properties"]["spec"] = spec
    document["components"]["schemas"]["io.x.Loop"] = {"$ref": "#/components/schemas/io.x.Loop"}

    with pytest.raises(SchemaError):
        OpenAPISource({"apis/x.io/v1": document}).find_kind(GADGET).root.child("spec")


def test_chain_answers_with_the_first_that_knows():
    crd = {"spec": {"group": "x.io", "names": {"kind": "Gadget", "plural": "gadgets"}, "versions": [{"name": "v1"}]}}
    openapi = OpenAPISource({"apis/x.io/v1": make_document()})
    chain = SourceChain(openapi, CRDSource([crd]), bundled())

    assert chain.find_kind(GADGET).origin is SchemaOrigin.CLUSTER_OPENAPI
    assert chain.find_kind(GroupVersionKind("", "v1", "Pod")).origin is SchemaOrigin.BUNDLED
    assert chain.find_kind(GroupVersionKind("", "v1", "Nothing")) is None
    assert chain.find_resource(GADGET).plural == "gadgets"
    assert chain.find_preferred("x.io", "Gadget").gvk == GADGET
    assert (chain.find_resource(GroupVersionKind("", "v9", "Pod")), chain.find_preferred("", "Nothing")) == (None, None)
    assert len(chain.list_resources()) == len(bundled().list_resources()) + 1


def test_built_in_kind_of_a_cluster_keeps_what_no_document_says():
    pod = {"group": "", "version": "v1", "kind": "Pod"}
    schema = {"type": "object", "properties": {"all": {"$ref": "#/components/schemas/L"}}}
    listed = {"type": "array", "items": {"type": "string"}}
    schemas = {"Pod": {**schema, "x-kubernetes-group-version-kind": [pod]}, "L": listed}
    kind = OpenAPISource({"api/v1": {"components": {"schemas": schemas}}}).find_kind(GroupVersionKind("", "v1", "Pod"))
    own = bundled().find_kind(GroupVersionKind("", "v1", "Pod"))

    assert kind.root.child("all").items.type == "string"
    assert (kind.is_custom, kind.zero, kind.reset_fields) == (False, own.zero, own.reset_fields)
    assert (kind.alternatives, kind.served_versions) == (own.alternatives, ("v1",))
