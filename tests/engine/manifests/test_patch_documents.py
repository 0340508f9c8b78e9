"""Patch documents: what they name and set, every problem with its line and field, and how they are written."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.manifests.documents import ObjectPatch, PatchType
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart, write_patch
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef

TARGET = "target: {apiVersion: v1, kind: ConfigMap, name: a}\n"
SECRET = "target: {apiVersion: v1, kind: Secret, name: a}\n"


def read(text):
    return take_patches_apart(parse_manifests(text.encode(), "f.yaml"))


def read_one(text):
    parsed = read(text)
    assert parsed.problems == ()
    (document,) = parsed.documents
    return document


def test_patch_stands_for_its_target_with_what_it_sets():
    document = read_one(f"kind: Patch\n{TARGET}patch:\n  metadata: {{labels: {{a: b}}}}\n  data: {{x: '1', z: null}}\n")

    assert document.ref == ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "", "a")
    assert document.obj == {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": "b"}, "name": "a"},
        "data": {"x": "1", "z": None},
    }  # fmt: skip
    assert document.patch.type is PatchType.STRATEGIC
    assert document.positions.find(("data",)).line == 5


def test_directives_are_no_fields_of_the_object():
    body = "{spec: {$retainKeys: [a], list: [{name: x, $patch: delete}, z]}}"

    document = read_one(
        f"kind: Patch\ntarget: {{apiVersion: v1, kind: Pod, name: a, namespace: shop}}\npatch: {body}\n"
    )

    assert document.obj["spec"] == {"list": [{"name": "x"}, "z"]}
    assert document.obj["metadata"] == {"name": "a", "namespace": "shop"}
    assert document.patch.body == yaml.safe_load(body)


def test_values_of_operations_are_fields_of_the_object_except_at_positions():
    operations = [
        {"op": "add", "path": "/data/a~1b~0c", "value": "1"},
        {"op": "replace", "path": "/data/d", "value": {"e": 1}},
        {"op": "add", "path": "/data/d/f", "value": 2},
        {"op": "add", "path": "/list/-", "value": 3},
        {"op": "replace", "path": "/list/0/x", "value": 3},
        {"op": "remove", "path": "/gone"},
        {"op": "test", "path": "/data/t", "value": 1},
        {"op": "copy", "path": "/data/u", "from": "/data/d"},
        {"op": "add", "path": "", "value": {"whole": True}},
        {"op": "add", "path": "", "value": 5},
    ]

    document = read_one(f"kind: Patch\n{TARGET}type: json\npatch: {operations}\n")

    assert {k: v for k, v in document.obj.items() if k not in ("apiVersion", "kind", "metadata")} == {
        "data": {"a/b~c": "1", "d": {"e": 1, "f": 2}}, "whole": True
    }  # fmt: skip
    assert document.retyped == ()


def test_metadata_that_an_operation_sets_to_no_map_is_left_out():
    document = read_one(f"kind: Patch\n{TARGET}type: json\npatch: [{{op: add, path: /metadata, value: 5}}]\n")

    assert document.obj["metadata"] == {"name": "a"}


def test_notes_about_values_have_the_paths_of_the_object():
    target = "target: {apiVersion: v1, kind: ConfigMap, name: a, name: a}\n"

    document = read_one(f"kind: Patch\n{target}patch: {{data: {{x: yes, z: 1, z: 2}}}}\n")

    assert [(note.path, note.text) for note in document.retyped] == [(("data", "x"), "yes")]
    assert [note.path for note in document.duplicates] == [("data", "z")]


def test_patches_and_objects_keep_their_order():
    parsed = read(f"kind: Patch\n{TARGET}patch: {{}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b}}\n")

    assert [document.ref.name for document in parsed.documents] == ["a", "b"]
    assert parsed.problems == ()


def test_file_without_patches_is_unchanged():
    parsed = parse_manifests(b"kind: ConfigMap\nmetadata: {name: a}\n", "f.yaml")

    assert take_patches_apart(parsed) is parsed


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("patch: {}\n", 1, "target must name the object: apiVersion, kind, name, and its namespace"),
        ("target: x\npatch: {}\n", 2, "target must name the object: apiVersion, kind, name, and its namespace"),
        ("target: {apiVersion: v1, kind: ConfigMap}\npatch: {}\n", 2, "target.name is missing"),
        ("target: {apiVersion: v1, kind: 5, name: a}\npatch: {}\n", 2, "target.kind must be text"),
        ("target: {apiVersion: v1, kind: A, name: a, uid: u}\npatch: {}\n", 2, "target.uid is no field of a patch"),
        ("target: {apiVersion: v1, kind: A, name: ..}\npatch: {}\n", 2, "target.name may not be '..'"),
        ("target: {apiVersion: v1, kind: A, name: a, namespace: b/c}\npatch: {}\n", 2,
         "target.namespace may not contain '/'"),
        (f"{TARGET}patch: {{}}\npaths: []\n", 4, "paths is no field of a patch"),
        (f"{TARGET}type: apply\npatch: {{}}\n", 3, "type must be one of strategic, merge, json"),
        (f"{TARGET}subresource: log\npatch: {{}}\n", 3, "subresource must be one of status, scale"),
        (f"{TARGET}type: 5\npatch: {{}}\n", 3, "type must be text"),
        (TARGET, 1, "patch must be a map of fields; a list of operations has type json"),
        (f"{TARGET}patch: []\n", 3, "patch must be a map of fields; a list of operations has type json"),
        (f"{TARGET}patch: {{metadata: 5}}\n", 3, "patch.metadata must be a map"),
        (f"{TARGET}patch:\n  l: [{{m: [a]}}]\n  k:\n  - $deleteFromPrimitiveList/f: [a, b]\n    f: [c, b]\n", 6,
         "patch.k[0].$deleteFromPrimitiveList/f deletes a value that the list also sets: the order is random"),
        (f"{TARGET}type: json\npatch: {{}}\n", 4, "patch must be a list of operations, because its type is json"),
        (f"{TARGET}type: json\npatch:\n- 5\n", 5, "patch[0] must be an operation with op and path"),
        (f"{TARGET}type: json\npatch:\n- {{path: /a}}\n", 5,
         "patch[0].op must be one of add, replace, test, remove, copy, move"),
        (f"{TARGET}type: json\npatch:\n- {{op: 5}}\n", 5,
         "patch[0].op must be one of add, replace, test, remove, copy, move"),
        (f"{TARGET}type: json\npatch:\n- {{op: remove, path: a}}\n", 5,
         "patch[0].path must be a path such as /spec/replicas"),
        (f"{TARGET}type: json\npatch:\n- {{op: move, path: /a}}\n", 5,
         "patch[0].from must be a path such as /spec/replicas"),
        (f"{TARGET}type: json\npatch:\n- {{op: add, path: /a}}\n", 5, "patch[0].value is missing"),
        (f"{SECRET}type: json\npatch:\n- {{op: test, path: /a, value: 1}}\n", 5,
         "patch[0].op cannot be test for a Secret: it would compare or repeat values that are hidden"),
    ],
)  # fmt: skip
def test_problem_names_its_line_and_field(text, line, reason):
    parsed = read(f"kind: Patch\n{text}")

    assert parsed.documents == ()
    assert (parsed.problems[0].position.line, parsed.problems[0].reason) == (line, reason)


@pytest.mark.parametrize(
    "patch", [
        "{$deleteFromPrimitiveList/f: [a], f: [b]}", "{$deleteFromPrimitiveList/f: [a], g: [a]}",
        "{$deleteFromPrimitiveList/f: a, f: [a]}",
    ],
)  # fmt: skip
def test_values_may_be_deleted_that_the_patch_does_not_set(patch):
    assert not read(f"kind: Patch\n{TARGET}patch: {patch}\n").problems


def test_every_problem_is_reported():
    assert len(read("kind: Patch\ntarget: {}\ntype: x\nsubresource: y\npatch: 5\nmore: 1\n").problems) == 7


TEXTS = [
    ('{"spec": {"replicas": 5}}', {"spec": {"replicas": 5}}),
    ("---\nspec:\n  replicas: 5\n", {"spec": {"replicas": 5}}),
    ("spec:\r\n  a: |\r\n    x\r\n\r\n    y\r\n", {"spec": {"a": "x\n\ny\n"}}),
    ("\n\n{a: b}", {"a": "b"}),
]


@pytest.mark.parametrize(("text", "body"), TEXTS)
def test_written_patch_is_read_as_it_was_entered(text, body):
    target = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "it's")

    document = read_one(write_patch(target, text, patch_type=PatchType.MERGE, subresource="scale"))

    assert document.ref == target
    assert document.patch == ObjectPatch(PatchType.MERGE, body, "scale")


def test_text_cannot_leave_the_patch():
    target = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "", "a")

    document = read_one(write_patch(target, "a: 1\ntarget: {name: b}\n", patch_type=PatchType.MERGE))

    assert (document.ref, document.patch.subresource) == (target, "")
    assert document.patch.body == {"a": 1, "target": {"name": "b"}}
