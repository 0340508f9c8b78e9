"""Entries of lists are named as ownership names them: by keys, defaults included, or by position."""

from __future__ import annotations

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.risks.walking import name_entry
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import Node, SchemaOrigin
from tests.engine.risks.widgets import WIDGETS


def node_of(api_version: str, kind: str, *steps: str) -> Node:
    found = bundled().find_kind(GroupVersionKind.from_api_version(api_version, kind))
    assert found is not None
    node = found.root
    for step in steps:
        assert node is not None
        node = node.items if step == "[]" else node.child(step)
    assert node is not None
    return node


def test_entries_of_map_lists_are_named_by_their_keys() -> None:
    ports = node_of("v1", "Service", "spec", "ports")

    assert name_entry(ports, {"port": 80}, 3) == 'k:{"port":80,"protocol":"TCP"}'
    assert name_entry(ports, {"protocol": "UDP"}, 3) == 'k:{"port":0,"protocol":"UDP"}'
    assert name_entry(ports, "odd", 3) == "i:3"


def test_entries_without_their_key_are_named_by_position() -> None:
    (version,) = WIDGETS["spec"]["versions"]
    kind = CRDSource([WIDGETS], origin=SchemaOrigin.SOURCE_CRD).find_kind(
        GroupVersionKind("example.com", version["name"], "Widget")
    )
    assert kind is not None
    assert kind.root is not None
    spec = kind.root.child("spec")
    assert spec is not None

    assert name_entry(spec.child("parts"), {"tags": []}, 1) == "i:1"


def test_other_entries_are_named_by_position() -> None:
    assert name_entry(node_of("v1", "ConfigMap", "metadata", "finalizers"), "a/x", 1) == "i:1"
    assert name_entry(node_of("networking.k8s.io/v1", "Ingress", "spec", "rules"), {"host": "a"}, 1) == "i:1"
    assert name_entry(None, {"name": "a"}, 2) == "i:2"
