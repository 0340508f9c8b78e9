"""Field sets behave as sets of paths."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSetMemo, from_paths, read_fields

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', "v:1", 'v:"1"'])
PATHS = st.frozensets(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=8)


@given(PATHS, PATHS)
def test_algebra_is_that_of_sets_of_paths(left, right):
    one, other = from_paths(left), from_paths(right)

    assert set(one.union(other)) == left | right
    assert set(one.intersection(other)) == left & right
    assert set(one.difference(other)) == left - right
    assert one.is_subset(other) == (left <= right)
    assert one.difference(one) == EMPTY
    assert len(one) == len(left)
    assert bool(one) == bool(left)


@given(PATHS, PATHS)
def test_recursive_difference_takes_what_is_below(left, right):
    rest = {p for p in left if not any(p[: n + 1] in right for n in range(len(p)))}

    assert set(from_paths(left).recursive_difference(from_paths(right))) == rest


@given(PATHS)
def test_fields_v1_round_trip(paths):
    whole = from_paths(paths)

    assert read_fields(whole.render()) == whole
    assert all(whole.has(p) for p in paths)
    assert not whole.has(())


def test_member_with_children_is_written_with_a_dot():
    written = {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}

    assert read_fields(written).render() == written
    assert read_fields(written).below("f:a") == from_paths([("f:b",)])


def test_elements_of_unknown_types_are_left_out():
    assert read_fields({"x:new": {}, "f:a": {"y:z": {}}}) == from_paths([("f:a",)])


def test_elements_are_read_in_one_spelling():
    assert read_fields({'k:{"b":1.0,"a":"<"}': {}}) == read_fields({'k:{"a":"\\u003c","b":1}': {}})


@pytest.mark.parametrize("fields", [{"a": {}}, {"": {}}, {"v:": {}}, {"k:[]": {}}, {"i:x": {}}, {"f:a": 5}, "x", []])
def test_what_is_no_fields_v1_is_an_error(fields):
    with pytest.raises(OwnershipError):
        read_fields(fields)


@pytest.mark.parametrize("fields", [None, {}, {"f:a": None}])
def test_nothing_means_the_field_itself(fields):
    assert read_fields(fields) == (from_paths([("f:a",)]) if fields else EMPTY)


def test_set_compares_with_sets_only():
    assert EMPTY != 0
    assert len({EMPTY, from_paths([])}) == 1
    assert repr(from_paths([("f:a",)])) == "FieldSet([('f:a',)])"


def test_the_whole_object_is_not_tracked():
    assert from_paths([()]) == EMPTY


def test_a_set_is_itself_with_itself():
    some = from_paths([("f:a",)])

    assert some.union(some) is some
    assert some.intersection(some) is some
    assert some.is_subset(some)


def test_fields_nested_too_deeply_are_an_error():
    fields = {}
    for _ in range(5_000):
        fields = {"f:a": fields}

    with pytest.raises(OwnershipError, match="nested too deeply"):
        read_fields(fields)


def test_memo_reads_equal_values_once_and_others_as_they_are():
    memo = FieldSetMemo()
    values = [{"f:data": {f"f:{number}": {}}} for number in range(9)]

    found = [memo.read(value) for value in values]

    assert found == [read_fields(value) for value in values]
    assert memo.read(deepcopy(values[0])) is found[0]
    assert memo.read(deepcopy(values[8])) == found[8]
    assert memo.recall(memo.write(found[1])) is found[1]
