"""Fields that a schema calls passwords: in definitions, documents of a cluster, references and combined schemas."""

from __future__ import annotations

from typing import Any

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.openapi import OpenAPISource
from applyviz.engine.schema.password_fields import ANY, list_passwords

GVK = GroupVersionKind("example.com", "v1", "Backup")
HIDDEN = {"type": "string", "format": "password"}


def crd(*schemas: Any) -> dict[str, Any]:
    versions = [{"name": f"v{n}", "schema": {"openAPIV3Schema": schema}} for n, schema in enumerate(schemas, 1)]
    names = {"kind": "Backup", "plural": "backups"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions}
    return {"metadata": {"name": "backups.example.com"}, "spec": spec}


def find(*schemas: Any) -> set[tuple[str, ...]]:
    return set(list_passwords(CRDSource([crd(*schemas)]).find_kind(GVK)))


def test_fields_entries_and_values():
    assert find(
        {
            "properties": {
                "one": HIDDEN,
                "many": {"items": HIDDEN},
                "named": {"additionalProperties": {"properties": {"two": HIDDEN}}},
                "plain": {"type": "string", "format": "date"},
            }
        }
    ) == {("one",), ("many", ANY), ("named", ANY, "two")}


def test_combined_schemas():
    combined = {
        "allOf": [{"properties": {"a": {"format": "password"}, "b": "none"}}],
        "anyOf": [{"items": {"format": "password"}}, "none"],
        "oneOf": [{"additionalProperties": {"anyOf": [{"format": "password"}]}}],
    }

    assert find({"properties": {"x": combined}}) == {("x", "a"), ("x", ANY)}


def test_every_version_counts():
    assert find({"properties": {"a": HIDDEN}}, {"properties": {"b": HIDDEN}}) == {("a",), ("b",)}


def test_the_object_itself_is_no_field():
    assert find({"format": "password"}) == set()


def test_kinds_without_passwords():
    assert list_passwords(None) == ()
    assert list_passwords(bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))) == ()


def test_references_of_a_document_are_followed_once():
    kind = {"group": GVK.group, "version": GVK.version, "kind": GVK.kind}
    schemas = {
        "example.Backup": {
            "type": "object",
            "properties": {"node": {"$ref": "#/components/schemas/example.Node"}},
            "x-kubernetes-group-version-kind": [kind],
        },
        "example.Node": {
            "type": "object",
            "properties": {"key": HIDDEN, "next": {"allOf": [{"$ref": "#/components/schemas/example.Node"}]}},
        },
    }
    patch = {"x-kubernetes-group-version-kind": kind, "requestBody": {"content": {"application/merge-patch+json": {}}}}
    paths = {"/apis/example.com/v1/namespaces/{namespace}/backups/{name}": {"patch": patch}}
    source = OpenAPISource({"apis/example.com/v1": {"components": {"schemas": schemas}, "paths": paths}})

    assert set(list_passwords(source.find_kind(GVK))) == {("node", "key")}
