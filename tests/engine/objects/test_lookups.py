"""Values by field path, without any schema."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.lookups import ABSENT, FieldFinder, find_value, put_field
from applyviz.engine.objects.paths import key, value

OBJ = {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}, "odd"], "set": ["a", 1], "secrets": [{"name": "a"}, {}]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("f:set",), ["a", 1]),
        (("f:set", "i:1"), 1),
        (("f:set", "i:2"), ABSENT),
        (("f:set", "v:1"), 1),
        (("f:set", 'v:"b"'), ABSENT),
        (("f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:port"), 80),
        (("f:ports", 'k:{"port":80,"protocol":"UDP"}', "f:protocol"), "UDP"),
        (("f:ports", 'k:{"port":81}', "f:port"), ABSENT),
        (("f:secrets", 'k:{"name":""}'), {}),
        (("f:ports", "f:port"), ABSENT),
        (("f:gone", "i:0"), ABSENT),
        (("f:set", "i:0", "i:0"), ABSENT),
        (("f:ports", "i:0", 'k:{"port":80}'), ABSENT),
    ],
)
def test_value_is_found_where_the_path_leads(path, value):
    assert find_value(OBJ, path) == value
    assert find_value(None, path) is ABSENT
    assert FieldFinder(OBJ).find(path) == value
    assert FieldFinder(None).find(path) is ABSENT


KEYS = st.dictionaries(
    st.sampled_from(["name", "port", "protocol"]), st.sampled_from(["TCP", "a", 1, 1.0, 2, True, None, [1], {"x": 1.0}])
)


@given(st.lists(KEYS | st.just("odd"), max_size=5), st.lists(KEYS, min_size=1, max_size=4))
def test_many_fields_are_found_as_each_alone(items, wanted):
    finder, obj = FieldFinder({"items": items}), {"items": items}
    found = [("f:items", element(one)) for one in wanted for element in (key, value)]

    for path in found:
        same = [item for item in items if find_value({"items": [item]}, path) is item]
        if len(same) > 1:  # together they are one leaf
            assert list(map(id, finder.find(path))) == list(map(id, same))
            assert find_value(obj, path) is same[0]
        else:
            assert finder.find(path) is find_value(obj, path)


PLACES = [
    (("f:a",), True),
    (("f:new", "f:below"), True),
    (("f:nothing", "f:below"), True),
    (("f:list", key({"name": "x"}), "f:value"), True),
    (("f:list", key({"name": "y"}), "f:value"), False),
    (("f:new", key({"name": "x"})), False),
    (("f:a", "f:below"), False),
]


@pytest.mark.parametrize(("path", "has_place"), PLACES)
def test_place_is_where_a_value_can_be_put(path, has_place):
    obj = {"a": 1, "nothing": None, "list": [{"name": "x"}]}

    assert FieldFinder(obj).has_place(path) is has_place
    assert (put_field(obj, path, 7) is not ABSENT) is has_place


def test_copied_finder_finds_the_same():
    finder = FieldFinder({"list": [{"name": "x", "value": 1}]})
    path = ("f:list", key({"name": "x"}), "f:value")

    assert [one.find(path) for one in (finder, copy.deepcopy(finder), pickle.loads(pickle.dumps(finder)))] == [1] * 3
