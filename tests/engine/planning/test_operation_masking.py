"""A JSON patch is masked by its result: what it repeats stays masked, whatever admission adds around it."""

from __future__ import annotations

from typing import Any

from applyviz.engine.diff.mask_policy import Beside, MaskPolicy
from applyviz.engine.diff.masking import Masker, is_masked, make_masker, mask
from applyviz.engine.diff.patch_masking import find_position, mask_operation, mask_patch
from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import get_at
from applyviz.engine.planning.objects.operation_masking import MaskedPatch, mask_operations

POD = GroupVersionKind("", "v1", "Pod")
SECRET = "q7Rz0xWv"
ENV = [{"name": "MODE", "value": "fast"}, {"name": "DB_PASSWORD", "value": SECRET}]
ARGS = ["--password", SECRET, "--level", "3"]


def make(policy: MaskPolicy = MaskPolicy()) -> Masker:  # noqa: B008 - it is frozen
    return make_masker({}, POD, b"k", "", policy, None, None)


def live(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": {"env": ENV, "args": ARGS, **spec}}


def run(*operations: Any, obj: dict[str, Any] | None = None, policy: MaskPolicy = MaskPolicy()) -> MaskedPatch:  # noqa: B008
    raw = obj or live()
    shown = mask(raw, gvk=POD, tag_key=b"k", policy=policy)
    return mask_operations(list(operations), Beside(raw, shown), make(policy))


def copy(path: str, start: str = "/spec/env/1/value") -> dict[str, str]:
    return {"op": "copy", "from": start, "path": path}


def test_a_copy_is_masked_in_the_result():
    patch = run(copy("/metadata/note"))
    after = {**live(), "metadata": {"name": "one", "note": SECRET}}

    shown = patch.hide(after, mask(after, gvk=POD, tag_key=b"k"), make())

    assert is_masked(shown["metadata"]["note"])
    assert shown["metadata"]["name"] == "one"


def test_entries_are_found_behind_those_of_admission():
    patch = run({"op": "replace", "path": "/spec/env/1/name", "value": "PLAIN"})
    after = live(env=[{"name": "ADDED", "value": "x"}, ENV[0], {"name": "PLAIN", "value": SECRET}])

    shown = patch.hide(after, mask(after, gvk=POD, tag_key=b"k"), make())

    assert [is_masked(one["value"]) for one in shown["spec"]["env"]] == [False, False, True]


def test_entries_that_cannot_be_found_are_masked():
    patch = run(copy("/spec/args/-"))
    after = live(args=["added", *ARGS, SECRET])

    shown = patch.hide(after, mask(after, gvk=POD, tag_key=b"k"), make())

    assert all(map(is_masked, shown["spec"]["args"]))


def test_another_shape_is_masked_leaf_by_leaf():
    patch = run(copy("/spec/extra"))
    after = live(extra={"a": [SECRET, 1]})

    shown = patch.hide(after, mask(after, gvk=POD, tag_key=b"k"), make())

    assert [is_masked(one) for one in shown["spec"]["extra"]["a"]] == [True, True]


def test_what_is_not_masked_stays_the_same_object():
    patch = run({"op": "replace", "path": "/spec/env/0/value", "value": "slow"})
    shown = {"metadata": {"name": "one"}}

    assert patch.hide(shown, shown, make()) is shown
    assert patch.hide(None, None, make()) is None


def test_values_are_masked_where_they_are_written():
    operations = [
        {"op": "replace", "path": "/spec/env/1/value", "value": SECRET},
        {"op": "replace", "path": "/spec/args/1", "value": SECRET},
        {"op": "test", "path": "/spec/env/1", "value": ENV[1]},
        {"op": "replace", "path": "/spec/env/0/value", "value": "slow"},
        {"op": "add", "path": "/spec/none/at/all", "value": SECRET},
        {"op": "add", "path": "/spec/env/x", "value": SECRET},
        {"op": "add", "path": "/spec/env/9", "value": SECRET},
        {"op": "add", "path": "/metadata/name/x", "value": SECRET},
        {"op": "add", "path": "/a" * 200, "value": SECRET},
        {"op": "add", "path": 5, "value": SECRET},
        {"op": "remove", "path": "/spec/env/0"},
        "no operation",
    ]

    found = run(*operations).operations

    assert SECRET not in str(found)
    assert found[3]["value"] == "slow"
    assert found[2]["value"]["name"] == "DB_PASSWORD"
    assert found[10] == operations[10]


def test_long_lists_of_arguments_are_masked():
    obj = live(args=[f"word-{n}" for n in range(100)])

    found = run({"op": "add", "path": "/spec/args/-", "value": "word"}, obj=obj).operations

    assert is_masked(found[0]["value"])


def test_null_stays_visible():
    assert run({"op": "add", "path": "/spec/args/-", "value": None}).operations[0]["value"] is None
    assert run({"op": "add", "path": "/spec/x/y", "value": None}).operations[0]["value"] is None


def test_a_value_masked_as_a_whole_hides_what_is_copied_from_it():
    policy = MaskPolicy(paths=("spec.hidden",))
    obj = live(hidden={"a": SECRET})
    patch = run(
        copy("/metadata/note", "/spec/hidden/a"),
        {"op": "replace", "path": "/spec/hidden/a", "value": "other-secret"},
        {"op": "test", "path": "/spec/hidden/a", "value": "other-secret"},
        copy("/spec/hidden/b", "/spec/hidden/a"),
        obj=obj,
        policy=policy,
    )
    after = {**obj, "metadata": {"name": "one", "note": SECRET}}

    shown = patch.hide(after, mask(after, gvk=POD, tag_key=b"k", policy=policy), make(policy))

    assert SECRET not in str(shown)
    assert "other-secret" not in str(patch.operations)


def test_nothing_follows_an_operation_that_does_not_apply():
    patch = run({"op": "remove", "path": "/spec/none"}, copy("/metadata/note"))

    assert "note" not in map_or_empty(patch.shown["metadata"])


def test_operations_without_their_object():
    body = [
        {"op": "add", "path": "/spec/env/0", "value": ENV[1]},
        {"op": "add", "path": "", "value": "text"},
        {"op": "add", "path": "/spec/plain", "value": "shown"},
    ]

    shown = mask_patch(body, JSON_PATCH, gvk=POD, tag_key=b"k")

    assert is_masked(shown[0]["value"]["value"])
    assert is_masked(shown[1]["value"])
    assert shown[2]["value"] == "shown"
    assert mask_operation({"op": "add", "path": "/x", "value": None}, None, make())["value"] is None


def test_positions_of_a_pointer():
    assert [find_position(key, 3) for key in ("0", "2", "3", "-", "-1", "-4", "4", "x", "1" * 20, "+-1", "\u0661")] == [
        *(0, 2, 3, 3, 2, None, None, None, None, None, None)
    ]


def test_nothing_follows_what_is_no_operation():
    assert get_at(run("no operation", copy("/metadata/note")).shown, ("metadata", "note")) is None
    assert get_at(run(copy("/metadata/note"), "no operation").shown, ("metadata", "note")) is not None
