"""Are the parts of a change that repeat themselves stored once, and read exactly as they were?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import fields

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.objects.errors import PlanError, SourcePosition
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.packing import (
    pack_fields,
    pack_value,
    pack_versions,
    unpack_fields,
    unpack_value,
    unpack_versions,
)
from applyviz.engine.planning.digest.serialize import (
    CHANGE_FORMAT,
    change_from_json,
    change_to_json,
    core_from_json,
    from_json,
    paths_from_json,
    to_json,
)
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_serialize import TEXT

SCALARS = some.none() | some.booleans() | some.sampled_from([0, 1, 1.0, -0.0, 0.0, 2**70, "", "a", "0"])
NAMES = some.sampled_from(["a", "b", "c", ""])
VALUES = some.recursive(
    SCALARS,
    lambda below: some.lists(below, max_size=4) | some.dictionaries(NAMES, below, max_size=4),
    max_leaves=12,
)


def write(value: Any) -> str:
    """JSON with the order of names and the kinds of numbers."""
    return json.dumps(value)


def through_text(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(VALUES, VALUES)
def test_difference_leads_back_to_the_value(value: Any, base: Any) -> None:
    difference = through_text(pack_value(value, base))

    assert write(unpack_value(difference, base)) == write(value)
    assert (difference == 0) == (write(value) == write(base))


@given(VALUES)
def test_difference_does_not_depend_on_identity(value: Any) -> None:
    assert pack_value(value, through_text(value)) == pack_value(value, value) == 0


@given(some.lists(some.none() | some.dictionaries(NAMES, VALUES, max_size=4), min_size=5, max_size=5))
def test_versions_come_back(given_versions: list[Any]) -> None:
    versions = Versions(*given_versions)

    found = Versions(**unpack_versions(through_text(pack_versions(versions))))

    for one in fields(Versions):
        assert write(getattr(found, one.name)) == write(getattr(versions, one.name))


@pytest.mark.parametrize(
    ("value", "base", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": [2]}),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, [1, {"b": 0, "a": 0}]),
        ({"a": 1}, {"a": 1, "b": 2}, [1, {"a": 0}]),
        ([1, 2, 3], [1, 5], [2, 0, [2], [3]]),
        ([], [1], [[]]),
        ([0], [[0]], [2, [0]]),
        (1, 1.0, [1]),
        (True, 1, [True]),
        (0, None, [0]),
    ],
)
def test_differences(value: Any, base: Any, expected: Any) -> None:
    assert pack_value(value, base) == expected
    assert write(unpack_value(expected, base)) == write(value)


@pytest.mark.parametrize("mode", ApplyMode)
def test_live_version_is_whole_and_the_others_share_its_parts(mode: ApplyMode) -> None:
    box, options = Box(), ApplyOptions(mode=mode)
    box.apply(TEXT, options)
    (change,) = box.plan(TEXT.replace("nginx", "nginx:2"), options).changes

    stored = through_text(change_to_json(change))
    found = change_from_json(stored)

    assert stored["versions"]["live"] == change.versions.live
    assert found == change
    assert write(found.versions.after) == write(change.versions.after)
    live, after = (version["spec"]["selector"] for version in (found.versions.live, found.versions.after) if version)
    assert live is after


def make_change(*reasons: FieldReason) -> PlannedObject:
    (change,) = Box().plan(TEXT).changes
    return replace(change, fields=reasons)


def test_every_part_of_a_field_comes_back() -> None:
    position = SourcePosition("a.yaml", 3, 4, 5, 6)
    owners = (Owner("m", "Apply", "v1", "status", "now"),)
    first = FieldReason(
        ("f:a", "f:b"),
        FieldOperation.CHANGED,
        Reason.MANIFEST_SETS,
        detail="why",
        owners_before=owners,
        owners_after=(Owner("n", "Update"),),
        position=position,
        stage=Stage.SERVER,
    )
    # A default would come back although it was never written.
    assert not [one.name for one in fields(FieldReason) if getattr(first, one.name) == one.default]
    others = (
        replace(first, path=("f:a", "f:b", "f:c"), position=replace(position, line=9)),
        replace(first, path=("f:a",), position=replace(position, document=7)),
        replace(first, path=(), position=replace(position, item=8), owners_before=()),
        replace(first, path=("f:x", "f:b"), position=SourcePosition()),
    )
    change = make_change(first, *others)

    found = change_from_json(through_text(change_to_json(change))).fields

    assert found == change.fields
    # Positions are equal whatever the document.
    assert [(f.position.document, f.position.item) for f in found] == [(5, 6), (5, 6), (7, 6), (5, 8), (0, 0)]


def test_equal_reasons_and_the_start_of_a_path_are_written_once() -> None:
    first = FieldReason(
        ("f:a", "f:b"), FieldOperation.UNCHANGED, Reason.LIVE_ONLY, owners_before=(Owner("m", "Apply"),)
    )
    change = make_change(first, replace(first, path=("f:a", "f:c"), position=SourcePosition("", 2, 1)))

    packed = change_to_json(change)["fields"]

    assert packed["rows"] == [[0, 0, 0, 0, "f:a", "f:b"], [0, 2, 1, 1, "f:c"]]
    assert len(packed["reasons"]) == 1


def test_paths_of_some_operations_are_read_alone() -> None:
    box = Box()
    box.apply(TEXT)
    (change,) = box.plan(TEXT.replace("nginx", "nginx:2").replace("replicas: 2", "replicas: 3")).changes

    for wanted in ({FieldOperation.CHANGED}, {FieldOperation.UNCHANGED, FieldOperation.DEFAULTED}, set()):
        expected = [one.path for one in change.fields if one.operation in wanted]
        assert paths_from_json(through_text(change_to_json(change)), wanted) == expected
    assert [p[-1] for p in paths_from_json(change_to_json(change), {FieldOperation.CHANGED})][-1] == "f:image"


def test_a_sender_reads_no_fields() -> None:
    (change,) = Box().plan(TEXT).changes

    assert core_from_json(through_text(change_to_json(change))).fields == ()
    assert paths_from_json({"format": CHANGE_FORMAT}, {FieldOperation.SET}) == []


@pytest.mark.parametrize(
    "damaged",
    [
        {"versions": {"live": {"a": 1}, "after": 7}},
        {"versions": {"live": {"a": 1}, "after": False}},
        {"versions": {"live": {"a": 1}, "after": "secret-text"}},
        {"versions": {"live": {"a": 1}, "after": []}},
        {"versions": {"live": {"a": 1}, "after": {"b": [2]}}},
        {"versions": {"live": {"a": [1]}, "after": {"a": [3, 0, [2]]}}},
        {"fields": {"reasons": [{"operation": "set", "reason": "order"}], "rows": [[0, 0, 0, 1, "f:a"]]}},
        {"fields": {"reasons": [], "rows": [[0, 0, 0, 0]]}},
        {"fields": {"rows": []}},
    ],
)
def test_damaged_content_is_refused_without_quoting_it(damaged: dict[str, Any]) -> None:
    ref = [["", "v1", "Pod"], "", "x"]
    stored = {"format": CHANGE_FORMAT, "ref": ref, "operation": Operation.UPDATE.value, "versions": {}}

    with pytest.raises(PlanError, match="stored PlannedObject cannot be read") as raised:
        change_from_json({**stored, **damaged})

    assert "secret-text" not in str(raised.value)


def test_fields_without_a_line_share_their_position() -> None:
    """An object has hundreds of them, and a position takes longer to make than the rest of a field."""
    without, with_line = (SourcePosition("a.yaml", line, document=2) for line in (0, 7))
    shared = FieldReason(("f:a",), FieldOperation.KEPT, Reason.LIVE_ONLY, position=without)
    rows = [
        replace(shared, path=(f"f:{name}",), position=at)
        for name, at in (("a", without), ("b", with_line), ("c", without))
    ]

    found = unpack_fields(through_text(pack_fields(rows, to_json)), lambda one: from_json(FieldReason, one))

    assert list(found) == rows
    assert found[0].position is found[2].position
    assert [one.position.document for one in found] == [2, 2, 2]
