"""JSON patches, as the API server applies them."""

from __future__ import annotations

import pytest

from applyviz.engine.merge.json_patch import apply_json_patch
from applyviz.engine.objects.errors import PatchError

LIVE = {"a": {"b": [1, 2, 3]}, "x/y": {"~": 1}, "n": None}


def op(kind, path, **more):
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([op("add", "/a/b/-", value=4)], {**LIVE, "a": {"b": [1, 2, 3, 4]}}),
        ([op("add", "/a/b/1", value=9)], {**LIVE, "a": {"b": [1, 9, 2, 3]}}),
        ([op("add", "/a/b/-1", value=9)], {**LIVE, "a": {"b": [1, 2, 3, 9]}}),
        ([op("remove", "/a/b/-1")], {**LIVE, "a": {"b": [1, 2]}}),
        ([op("replace", "/x~1y/~0", value={"z": 1})], {**LIVE, "x/y": {"~": {"z": 1}}}),
        ([op("replace", "/new", value=1)], {**LIVE, "new": 1}),
        ([op("move", "/m", **{"from": "/a/b"})], {**LIVE, "a": {}, "m": [1, 2, 3]}),
        ([op("copy", "/m", **{"from": "/a"}), op("remove", "/m/b/0")], {**LIVE, "m": {"b": [2, 3]}}),
        ([op("test", "/a/b/0", value=1), op("test", "/n", value=None), op("test", "/none")], LIVE),
        ([op("replace", "", value={"k": 1})], {"k": 1}),
        ([op("test", "", value=LIVE)], LIVE),
    ],
)
def test_operations_apply(operations, after):
    assert apply_json_patch(LIVE, operations) == after
    assert LIVE == {"a": {"b": [1, 2, 3]}, "x/y": {"~": 1}, "n": None}


@pytest.mark.parametrize(
    ("operations", "status"),
    [
        ({"op": "add"}, 400),
        (["add"], 400),
        ([op("test", "/a", value=1)] * 10_001, 413),
        ([op("grow", "/a")], 422),
        ([{"op": "add", "value": 1}], 422),
        ([op("remove", "/none")], 422),
        ([op("remove", "")], 422),
        ([op("add", "/none/x", value=1)], 422),
        ([op("add", "/n/x", value=1)], 422),
        ([op("add", "/a/b/7", value=1)], 422),
        ([op("replace", "/a/b/x", value=1)], 422),
        ([op("replace", "", value=1)], 422),
        ([op("replace", "", value=[])], 422),
        ([op("test", "/a/b/0", value="1")], 422),
        *[([op("remove", f"/a/b/{odd}")], 422) for odd in ("9" * 5000, "\u0661", "+-1")],
        ([op("remove", f"/a/b/{'9' * 5000}/c")], 422),
        ([op("test", "/a/b/0", value=True)], 422),
        ([op("test", "/a/b/0", value=1.0)], 422),
    ],
)
def test_bad_patches_are_refused(operations, status):
    with pytest.raises(PatchError) as caught:
        apply_json_patch(LIVE, operations)

    assert caught.value.status == status


def test_copies_are_refused_once_they_are_too_large_together():
    live = {"a": "x" * 1_000_000}
    copies = [op("copy", f"/b{n}", **{"from": "/a"}) for n in range(4)]

    assert set(apply_json_patch(live, copies[:3])) == {"a", "b0", "b1", "b2"}
    with pytest.raises(
        PatchError, match="the accumulated size increase of copy is 4000008, exceeding the limit"
    ) as caught:
        apply_json_patch(live, copies)
    assert caught.value.status == 413
