"""One patch as each of the three types: the example of the documentation about lists, and what cannot be compared."""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.objects.paths import render_path
from applyviz.guide.given import PlaygroundQuery
from applyviz.guide.patch_kinds import compare_kinds, list_operations

NOW = "2026-01-01T00:00:00Z"
PATCH = """\
kind: Patch
target: {apiVersion: apps/v1, kind: Deployment, name: patch-demo}
type: strategic
patch:
  spec:
    template:
      spec:
        containers:
        - {name: patch-demo-ctr-2, image: redis}
        tolerations: [{effect: NoSchedule, key: disktype, value: ssd}]
"""
LIVE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: patch-demo, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      containers: [{name: patch-demo-ctr, image: nginx}]
      tolerations: [{effect: NoSchedule, key: dedicated, value: test-team}]
"""
CONTAINERS = ".spec.template.spec.containers"


def compare(manifest=PATCH, live=LIVE):
    return compare_kinds(PlaygroundQuery(manifest=manifest, live=live), now=NOW)


def changed(kind):
    return {render_path(one.path): one.operation.value for one in kind.fields}


def test_strategic_patch_keeps_the_other_container_and_a_merge_patch_does_not():
    strategic, merge, operations = compare()

    old = f'{CONTAINERS}[name="patch-demo-ctr"].image'
    assert [(one.type, one.is_written, one.is_same) for one in (strategic, merge, operations)] == [
        (PatchType.STRATEGIC, True, True),
        (PatchType.MERGE, False, False),
        (PatchType.JSON, False, True),
    ]
    assert old not in changed(strategic)
    assert changed(merge)[old] == "cleared"
    for kind in (strategic, merge):  # tolerations have no merge key, so both replace them
        assert changed(kind)[".spec.template.spec.tolerations"] == "changed"
    assert {one["path"] for one in operations.body} == {
        "/spec/template/spec/containers",
        "/spec/template/spec/tolerations/0/key",
        "/spec/template/spec/tolerations/0/value",
    }


def test_written_merge_patch_is_compared_with_the_strategic_one():
    strategic, merge, operations = compare(PATCH.replace("strategic", "merge"))

    assert [(one.is_written, one.is_same) for one in (strategic, merge, operations)] == [
        (False, False),
        (True, True),
        (False, True),
    ]


def test_type_that_the_kind_does_not_take_says_so():
    manifest = (
        "kind: Patch\ntarget: {apiVersion: example.com/v1, kind: Shop, name: a}\ntype: merge\npatch: {spec: {x: 2}}\n"
    )
    live = "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a, namespace: default}\nspec: {x: 1}\n"

    strategic, merge, operations = compare(manifest, live)

    assert (merge.is_same, operations.is_same, merge.error) == (True, True, "")
    assert strategic.error
    assert operations.body == [{"op": "replace", "path": "/spec/x", "value": 2}]


@pytest.mark.parametrize(
    ("manifest", "live"),
    [
        (LIVE, LIVE),
        (PATCH, ""),
        ("kind: Patch\ntarget: {apiVersion: v1, kind: ConfigMap, name: a}\ntype: json\npatch: []\n", ""),
        (
            "kind: Patch\ntarget: {apiVersion: v1, kind: Secret, name: a}\npatch: {data: {b: YQ==}}\n",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\ndata: {b: YQ==}\n",
        ),
    ],
)
def test_other_questions_have_nothing_to_compare(manifest, live):
    assert compare(manifest, live) == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a/b": 1, "c~d": 1}, {"c~d": 2}, [("remove", "/a~1b"), ("replace", "/c~0d")]),
        ({"l": [1, 2]}, {"l": [1, 3]}, [("replace", "/l/1")]),
        ({"l": [1, 2]}, {"l": [1]}, [("replace", "/l")]),
        ({}, {"m": {"n": 1}}, [("add", "/m")]),
    ],
)
def test_operations_turn_one_value_into_the_other(before, after, expected):
    assert [(one["op"], one["path"]) for one in list_operations(before, after)] == expected
