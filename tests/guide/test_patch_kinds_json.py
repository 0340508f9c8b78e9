"""A JSON patch as each of the three types: the merges that lead to the same object, and what no merge can do."""

from __future__ import annotations

from applyviz.engine.manifests.documents import PatchType
from applyviz.guide.given import PlaygroundQuery
from applyviz.guide.patch_kinds import compare_kinds
from tests.guide.test_patch_kinds import LIVE, NOW

HEAD = "kind: Patch\ntarget: {apiVersion: apps/v1, kind: Deployment, name: patch-demo}\ntype: json\npatch:\n"
ADD = HEAD + "- {op: add, path: /spec/template/spec/containers/-, value: {name: second, image: redis}}\n"
REMOVE = HEAD + "- {op: remove, path: /spec/template/spec/tolerations/0}\n"


def compare(manifest, live=LIVE):
    return {one.type: one for one in compare_kinds(PlaygroundQuery(manifest=manifest, live=live), now=NOW)}


def find_pod(body):
    return body["spec"]["template"]["spec"]


def test_entry_that_operations_add_is_one_entry_of_a_strategic_patch_and_the_whole_list_of_a_merge_patch():
    found = compare(ADD)

    assert list(found) == [PatchType.STRATEGIC, PatchType.MERGE, PatchType.JSON]
    assert all(one.is_same and not one.error for one in found.values())
    assert [one.is_derived for one in found.values()] == [True, True, False]
    assert [one["name"] for one in find_pod(found[PatchType.STRATEGIC].body)["containers"]] == ["second"]
    assert [one["name"] for one in find_pod(found[PatchType.MERGE].body)["containers"]] == ["patch-demo-ctr", "second"]


def test_removed_list_is_null_in_both_merges():
    found = compare(REMOVE)

    for kind in (PatchType.STRATEGIC, PatchType.MERGE):
        assert found[kind].is_same
        assert not find_pod(found[kind].body)["tolerations"]


def test_custom_kind_has_no_strategic_patch_to_compare_with():
    manifest = HEAD.replace("apps/v1, kind: Deployment", "example.com/v1, kind: Shop")
    live = "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: patch-demo, namespace: default}\nspec: {x: 1}\n"

    found = compare(manifest + "- {op: replace, path: /spec/x, value: 2}\n", live)

    assert list(found) == [PatchType.MERGE, PatchType.JSON]
    assert found[PatchType.MERGE].body == {"spec": {"x": 2}}


def test_patch_that_does_not_apply_has_nothing_to_compare():
    assert compare(HEAD + "- {op: test, path: /spec/replicas, value: 9}\n") == {}
