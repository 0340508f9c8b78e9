"""Values by field path, without any schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.lookups import ABSENT, FieldFinder, find_value
from applyviz.engine.objects.paths import key, value

OBJ = {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}, "odd"], "set": ["a", 1]}


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
        assert finder.find(path) is find_value(obj, path)
