"""Values in Go's own spelling."""

from __future__ import annotations

import pytest

from applyviz.engine.merge.printed import print_text, print_type, print_value


@pytest.mark.parametrize(
    ("value", "printed", "kind"),
    [
        ("a b", "a b", "string"),
        (None, "<nil>", "%!s(<nil>)"),
        (True, "true", "bool"),
        (False, "false", "bool"),
        (7, "7", "int64"),
        (1.0, "1", "float64"),
        (123456789.0, "1.23456789e+08", "float64"),
        ({"b": [1, None], "a": {}}, "map[a:map[] b:[1 <nil>]]", "map[string]interface {}"),
        ([], "[]", "[]interface {}"),
    ],
)
def test_values_are_printed_as_go_does(value, printed, kind):
    assert (print_value(value), print_type(value)) == (printed, kind)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("a b", "a b"),
        (None, "%!s(<nil>)"),
        (True, "%!s(bool=true)"),
        (7, "%!s(int64=7)"),
        (0.5, "%!s(float64=0.5)"),
        ({"b": [1, "x"], "a": None}, "map[a:%!s(<nil>) b:[%!s(int64=1) x]]"),
    ],
)
def test_text_is_printed_as_go_does_where_it_is_none(value, printed):
    assert print_text(value) == printed
