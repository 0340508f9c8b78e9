"""Definitions that the API server refuses, in its words; recorded from kube-apiserver v1.36.3 or read in its source."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.objects.values import MutableObject
from applyviz.kubernetes.v1_36.validation import definitions
from applyviz.sandbox.schema.definition_schemas import check_schema
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parent / "data" / "definitions.yaml")
PATH = "spec.validation.openAPIV3Schema"
SPEC = f"{PATH}.properties[spec]"
DEFINITION: MutableObject = {
    "metadata": {"name": "things.kinds.example.com"},
    "spec": {
        "group": "kinds.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
    "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]},
}


def refuse_schema(spec: Any, *, has_status: bool = False, **root: Any) -> list[str]:
    schema = {"type": "object", "properties": {"spec": spec}, **root}
    return [str(problem) for problem in check_schema(schema, PATH, has_status=has_status)]


def change(**spec: Any) -> MutableObject:
    changed = copy.deepcopy(DEFINITION)
    changed["spec"].update(spec)
    return changed


def refuse(obj: MutableObject) -> list[str]:
    return [str(problem) for problem in definitions.CREATE["customresourcedefinitions"](obj)]


def refuse_update(obj: MutableObject) -> list[str]:
    return [str(problem) for problem in definitions.UPDATE["customresourcedefinitions"](obj, DEFINITION)]


@pytest.mark.parametrize("case", CASES["schemas"])
def test_schema_is_refused_in_the_words_of_the_server(case: Any) -> None:
    assert refuse_schema(case["given"]) == [refusal.replace("SPEC", SPEC) for refusal in case["refused"]]


@pytest.mark.parametrize("case", CASES["topologies"])
def test_topology_of_a_schema_is_refused(case: Any) -> None:
    items = {"type": "object", "properties": {"a": {"type": "string"}}}

    found = refuse_schema({"type": "array", "items": items, **case["given"]})

    assert found == [f"{SPEC}.{refusal}" for refusal in case["refused"]]


def test_root_of_a_schema_is_refused() -> None:
    described = {"metadata": {"type": "object", "description": "a"}}
    branch = {"properties": {"a": {"minimum": 1}}}

    (nullable,) = refuse_schema({"type": "string"}, nullable=True)
    (meta,) = refuse_schema({"type": "string"}, properties=described)
    (undefined,) = refuse_schema({"type": "string"}, oneOf=[branch])

    assert nullable == f"{PATH}.nullable: Forbidden: nullable cannot be true at the root"
    assert meta.startswith(f"{PATH}.properties[metadata]: Forbidden: must not specify anything other than name and")
    assert undefined == f"{PATH}.properties[a]: Required value: because it is defined in {PATH}.oneOf[0].properties[a]"
    assert refuse_schema({"type": "string"}, has_status=True) == []
    assert len(refuse_schema({"type": "string"}, has_status=True, anyOf=[{"required": ["spec"]}])) == 1


@pytest.mark.parametrize("case", CASES["definitions"])
def test_definition_is_refused(case: Any) -> None:
    assert case["refused"] in refuse(change(**case["given"]))


def test_names_of_a_definition_are_refused() -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "Thing", "shortNames": ["A"]}

    found = refuse(change(names=names))

    assert found[0] == 'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same'
    assert found[1].startswith('spec.names.shortNames[0]: Invalid value: "A": a DNS-1035 label')


def test_what_all_versions_share_is_refused_at_the_top() -> None:
    one, other = copy.deepcopy(DEFINITION["spec"]["versions"][0]), copy.deepcopy(DEFINITION["spec"]["versions"][0])
    other |= {"name": "v2", "storage": False}
    scale = {"specReplicasPath": "spec.size", "statusReplicasPath": ".spec.size"}
    at_top = [one | {"subresources": {"scale": scale}}, other | {"subresources": {"scale": scale}}]
    below = [one, other | {"additionalPrinterColumns": [{"name": "A", "type": "odd", "jsonPath": "a"}]}]

    found = [
        problem.partition(": ")[0] for problem in (*refuse(change(versions=at_top)), *refuse(change(versions=below)))
    ]

    assert found == [
        "spec.subresources.scale.specReplicasPath",
        "spec.subresources.scale.statusReplicasPath",
        "spec.versions[1].additionalPrinterColumns[0].type",
        "spec.versions[1].additionalPrinterColumns[0].JSONPath",
    ]


def test_versions_are_printed_without_what_moved() -> None:
    versions = [DEFINITION["spec"]["versions"][0]] * 2
    moved = '"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null'
    shown = f'{{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,{moved}}}'

    assert refuse(change(versions=versions)) == [
        f"spec.versions: Invalid value: [{shown},{shown}]: must contain unique version names",
        f"spec.versions: Invalid value: [{shown},{shown}]: must have exactly one version marked as storage version",
    ]


def test_update_of_a_definition_keeps_names_and_stored_versions() -> None:
    names = {**DEFINITION["spec"]["names"], "kind": "Other"}
    versions = [{**DEFINITION["spec"]["versions"][0], "name": "v2"}]

    assert refuse_update(change(names=names)) == ['spec.names.kind: Invalid value: "Other": field is immutable']
    (lost,) = refuse_update(change(versions=versions))
    assert lost.startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously'
    )
