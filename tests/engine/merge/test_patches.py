"""Named cases of the three-way patch: what is sent, and what the live object becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from applyviz.engine.merge import patches
from applyviz.engine.merge.shapes import GoTypeShape, OpenAPIv2Shape, PatchShape
from applyviz.engine.objects.errors import MergeError, PatchError
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import clone
from applyviz.engine.schema import builtin
from applyviz.engine.schema.definitions import DefinitionSet
from applyviz.engine.schema.nodes import SchemaNode
from tests.yaml_files import read_yaml

CASES = [
    case
    for file in sorted(Path(__file__).parents[2].joinpath("cases/merge").glob("strategic-*.yaml"))
    for case in read_yaml(file)
]
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def kind_of(obj):
    return builtin.bundled().find_kind(GroupVersionKind.from_object(obj))


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_named_case_agrees_with_the_reference(case):
    kind, expect = kind_of(case["manifest"]), case["expect"]
    before = clone([case["last_applied"], case["manifest"], case["live"]])

    if "error" in expect:
        with pytest.raises(MergeError) as caught:
            patches.compute(case["last_applied"], case["manifest"], case["live"], kind=kind)
        # Struct names are Go's.
        assert str(caught.value).split(" in struct")[0].startswith(expect["error"].split(" in struct")[0])
        return
    patch = patches.compute(case["last_applied"], case["manifest"], case["live"], kind=kind)

    assert patch.body == expect["patch"]
    assert patch.method == expect.get("method", patches.STRATEGIC)
    if "refused" in expect:
        with pytest.raises(PatchError) as caught:
            patches.apply(case["live"], patch.body, patch.content_type, kind=kind)
        assert str(caught.value) == expect["refused"]
    else:
        assert patches.apply(case["live"], patch.body, patch.content_type, kind=kind) == expect["after"]
    assert [case["last_applied"], case["manifest"], case["live"]] == before


def test_other_sources_warn_before_the_one_that_answers():
    case = next(c for c in CASES if c["name"] == "crd-falls-back")

    patch = patches.compute(case["last_applied"], case["manifest"], case["live"], kind=kind_of(case["manifest"]))

    assert patch.content_type == MERGE_PATCH
    assert [w.partition(":")[0] for w in patch.warnings] == [
        "error calculating patch from openapi v3 spec",
        "error calculating patch from openapi spec",
    ]


def test_kind_nobody_knows_takes_a_json_merge_patch():
    patch = patches.compute(None, {"a": [1]}, {"a": [1, 2], "b": 1}, kind=None)

    assert (patch.body, patch.content_type) == ({"a": [1]}, MERGE_PATCH)


def test_overwriting_is_refused_where_others_changed_the_same_field():
    kind = builtin.bundled().find_kind(DEPLOYMENT)

    def compute(live_replicas):
        objects = [{"spec": {"replicas": n}} for n in (1, 2, live_replicas)]
        return patches.compute(*objects, kind=kind, is_overwriting=False)

    with pytest.raises(MergeError, match="conflicts with changes made from original to current"):
        compute(5)
    assert compute(1).body == {"spec": {"replicas": 2}}


def test_overwriting_looks_into_lists_that_merge_by_name():
    kind = builtin.bundled().find_kind(DEPLOYMENT)

    def pod(image, **more):
        return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image, **more}]}}}}

    with pytest.raises(MergeError, match="conflicts"):
        patches.compute(pod("a"), pod("b"), pod("c"), kind=kind, is_overwriting=False)
    kept = patches.compute(pod("a"), pod("b"), pod("a", tty=True), kind=kind, is_overwriting=False)
    assert kept.body["spec"]["template"]["spec"]["containers"] == [{"name": "web", "image": "b"}]


def test_lists_that_were_compared_are_sent_in_sorted_order():
    kind = builtin.bundled().find_kind(GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role"))

    def role(*verbs, **more):
        return {"rules": [{"verbs": list(verbs), **more}]}

    patch = patches.compute(
        role("get"), role("watch", "get", "list"), role("list", "get", "watch"), kind=kind, is_overwriting=False
    )

    assert patch.body == role("get", "list", "watch")
    with pytest.raises(MergeError, match="conflicts"):
        patches.compute(role("get"), role("get", "list"), role("get", "get"), kind=kind, is_overwriting=False)


@pytest.mark.parametrize(
    ("last_applied", "manifest", "live"),
    [
        ({"data": {"a": "1"}}, {"data": {"a": "2"}}, {"data": None}),
        ({"data": {"a": "1"}}, {"data": {"a": {"$patch": "x"}}}, {"data": {"a": {"b": 1}}}),
        ({"data": {"a": "1"}}, {"data": {"a": ["2"]}}, {"data": {"a": {"b": 1}}}),
        ({"data": {"a": "1"}}, {"data": {"a": "2"}}, {"data": {"a": "3"}}),
        ({"data": {"a": {"$patch": "x", "b": 1}}}, {"data": {"a": {"$patch": "y"}}}, {"data": {"a": {"$patch": "z"}}}),
    ],
)
def test_values_of_different_form_disagree(last_applied, manifest, live):
    kind = builtin.bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))

    with pytest.raises(MergeError):
        patches.compute(last_applied, manifest, live, kind=kind, is_overwriting=False)


def test_overwriting_finds_entries_by_the_type_of_their_key_too():
    kind = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Pod"))

    def pod(uid, name):
        owners = [{"apiVersion": "v1", "kind": "A", "name": name, "uid": uid}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": owners}}

    patch = patches.compute(pod(1, "a"), pod(1, "b"), pod(1.0, "a"), kind=kind, is_overwriting=False)

    assert patch.body["metadata"]["ownerReferences"] == [{"name": "b", "uid": 1}]


def test_overwriting_leaves_entries_alone_that_others_touched():
    kind = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Pod"))

    def pod(**images):
        return {"spec": {"containers": [{"name": name, "image": image} for name, image in images.items()]}}

    patch = patches.compute(pod(a="1"), pod(a="2"), pod(a="1", b="3"), kind=kind, is_overwriting=False)

    assert patch.body["spec"]["containers"] == [{"name": "a", "image": "2"}]


@pytest.mark.parametrize(
    ("last_applied", "manifest", "live"),
    [
        ([{"key": "a"}], [{"key": "b"}], [{"key": "a"}, {"key": "c"}]),
        ([{"key": "a"}], [{"key": ["b"]}], [{"key": None}]),
    ],
)
def test_lists_of_another_length_or_form_disagree(last_applied, manifest, live):
    kind = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Pod"))

    with pytest.raises(MergeError):
        patches.compute(
            *({"spec": {"tolerations": each}} for each in (last_applied, manifest, live)),
            kind=kind,
            is_overwriting=False,
        )


def test_directives_written_in_a_manifest_are_taken_at_their_word():
    kind = builtin.bundled().find_kind(GroupVersionKind("", "v1", "Service"))
    labels, deletion = {"labels": {"a": "1"}}, {"$deleteFromPrimitiveList/finalizers": ["x"]}

    patch = patches.compute(
        {"metadata": labels}, {"metadata": deletion}, {"metadata": {**labels, "finalizers": ["x"]}}, kind=kind
    )

    assert patch.body == {"metadata": {**deletion, "labels": None}}
    before = {"metadata": {"finalizers": ["a", "b"]}}
    ordered = {"metadata": {"finalizers": ["b"], "$setElementOrder/finalizers": ["z"]}}
    with pytest.raises(MergeError, match="invalid patch format of setElementOrder list"):
        patches.compute(before, ordered, before, kind=kind)
    same = {"metadata": {"name": "s", "$patch": "delete"}}
    assert patches.compute(None, same, same, kind=kind).body == {}


def test_shapes_refuse_what_they_cannot_merge():
    node = SchemaNode(
        {
            "properties": {
                "odd": {"type": "array", "x-kubernetes-patch-strategy": "merge,replace"},
                "nested": {"type": "array", "items": {"type": "array"}},
                "loose": {},
            }
        },
        DefinitionSet(lambda name: None),
    )

    with pytest.raises(PatchError, match=r"unexpected patch strategy: \[merge replace\]"):
        PatchShape(node).list_rule("odd")
    with pytest.raises(PatchError, match="unexpected slice of slice"):
        GoTypeShape(node).list_rule("nested")
    assert OpenAPIv2Shape(node).list_rule("loose").strategy == ""
    assert OpenAPIv2Shape(None).list_rule("anything").strategy == ""


def apply_strategic(live, patch, gvk=DEPLOYMENT):
    return patches.apply(live, patch, STRATEGIC_MERGE_PATCH, kind=builtin.bundled().find_kind(gvk))


def test_apply_replaces_a_map_that_says_so():
    live = {"metadata": {"labels": {"a": "1", "b": "2"}}}

    assert apply_strategic(live, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}) == {
        "metadata": {"labels": {"c": "3"}}
    }
    assert apply_strategic(live, {"metadata": {"labels": {"$patch": "delete"}}}) == {"metadata": {"labels": {}}}


def test_apply_replaces_a_list_that_says_so():
    live = {"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}]}}
    patch = {"metadata": {"ownerReferences": [{"$patch": "replace"}, {"uid": "c"}]}}

    assert apply_strategic(live, patch) == {"metadata": {"ownerReferences": [{"uid": "c"}]}}


def test_apply_drops_nulls_where_nothing_was():
    assert apply_strategic({}, {"spec": {"paused": None, "replicas": 1}, "status": None}) == {"spec": {"replicas": 1}}


@pytest.mark.parametrize(
    ("patch", "status", "reason"),
    [
        ({"metadata": {"ownerReferences": [["a"]]}}, 422, "lists of lists are not supported"),
        ({"metadata": {"$setElementOrder/finalizers": "a"}}, 500, "expected a []interface {}, but received a string"),
        ({"metadata": {"$deleteFromPrimitiveList": ["a"]}}, 400, "invalid patch format of primitive list"),
        ({"metadata": {"$retainKeys": ["name"], "labels": {}}}, 400, "invalid patch format of retainKeys"),
        ({"metadata": {"ownerReferences": [None]}}, 500, "a list that merges holds null"),
        ({"metadata": {"$patch": "upsert"}}, 500, "unknown patch type: upsert in map: map[$patch:upsert]"),
        (["a"], 400, "invalid JSON document"),
    ],
)
def test_apply_refuses_with_the_status_of_the_server(patch, status, reason):
    with pytest.raises(PatchError) as caught:
        apply_strategic({"metadata": {"finalizers": ["x"], "name": "web", "ownerReferences": []}}, patch)

    assert (caught.value.status, str(caught.value)) == (status, reason)


def test_apply_knows_its_content_types():
    kind = builtin.bundled().find_kind(DEPLOYMENT)

    for content_type, given in ((APPLY_PATCH, kind), (STRATEGIC_MERGE_PATCH, None)):
        with pytest.raises(PatchError) as caught:
            patches.apply({}, {}, content_type, kind=given)
        assert caught.value.status == 415


def test_shapes_name_their_type_in_their_own_way():
    root = builtin.bundled().find_kind(DEPLOYMENT).root
    labels = root.child("metadata").child("labels")

    assert [PatchShape(node).name for node in (root, labels, None)] == ["object", "object", "Struct"]
    assert [GoTypeShape(node).name for node in (root, labels, None)] == ["struct", "map", "struct"]


def test_shapes_look_fields_up_in_their_own_way():
    root = builtin.bundled().find_kind(DEPLOYMENT).root

    assert GoTypeShape(root).map_rule("Spec").shape.list_rule is not None
    for shape, key in ((PatchShape(root), "Spec"), (OpenAPIv2Shape(root), "Spec"), (GoTypeShape(root), "nothing")):
        with pytest.raises(PatchError):
            shape.map_rule(key)
    with pytest.raises(PatchError, match="expected slice, but got map"):
        OpenAPIv2Shape(root).list_rule("spec")
    assert OpenAPIv2Shape(None).map_rule("anything").strategy == ""


APPLIED = read_yaml(Path(__file__).parents[2].joinpath("cases/merge/apply.yaml"))


@pytest.mark.parametrize("case", APPLIED, ids=[c["name"] for c in APPLIED])
def test_patch_is_applied_as_by_the_reference(case):
    gvk = GroupVersionKind(*case["kind"].split("/"))
    before = clone([case["live"], case["patch"]])

    if "refused" in case["expect"]:
        with pytest.raises(PatchError) as caught:
            apply_strategic(case["live"], case["patch"], gvk)
        # Struct names are Go's; which of several wrong fields is told first hangs on a Go map.
        assert str(caught.value).split(" in struct")[0] == case["expect"]["refused"].split(" in struct")[0]
    else:
        assert apply_strategic(case["live"], case["patch"], gvk) == case["expect"]["after"]
    assert [case["live"], case["patch"]] == before


def test_json_patch_goes_by_its_content_type():
    assert patches.apply({"a": [{"b": 1}]}, [{"op": "remove", "path": "/a/0/b"}], JSON_PATCH, kind=None) == {"a": [{}]}
