"""Values by field path, without any schema."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.lookups import ABSENT, find_value

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
