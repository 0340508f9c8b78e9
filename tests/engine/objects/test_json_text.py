"""JSON that only we read again keeps every value; answers of servers are read as untyped Go reads them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.golang import read_integer
from applyviz.engine.objects.json_text import (
    DocumentDecoder,
    DocumentEncoder,
    is_nested_deeper,
    read_answer,
    read_json,
    read_members,
    write_json,
    write_sorted,
)

TEXT = st.text(st.characters(blacklist_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda v: st.lists(v) | st.dictionaries(TEXT, v))


def spell(value):
    """A text that tells 1, 1.0 and true apart, and the order of names."""
    return json.dumps(value)


@given(VALUES)
def test_every_value_comes_back(value):
    assert spell(read_json(write_json(value))) == spell(value)
    assert spell(json.loads(write_json(value))) == spell(value)
    assert spell(json.loads(json.dumps(value, cls=DocumentEncoder), cls=DocumentDecoder)) == spell(value)


@given(VALUES)
def test_answers_are_read_as_before(value):
    text = json.dumps(value).encode()

    assert spell(read_answer(text)) == spell(json.loads(text, parse_int=read_integer))


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, 123456789012345678])
def test_integers_beyond_64_bits(number):
    assert read_json(write_json(number)) == number
    found = read_answer(str(number).encode())

    assert (type(found), found) == (type(read_integer(str(number))), read_integer(str(number)))


@pytest.mark.parametrize("text", [b"NaN", b"-Infinity", b'{"a": Infinity}', b"{", b"", b"nothing"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"is no JSON|Expecting"):
        read_answer(text)


def test_half_a_surrogate_pair_is_read_and_kept_in_columns():
    assert read_answer(b'"\\ud800"') == read_json('"\\ud800"') == "\ud800"
    assert json.loads(json.dumps("\ud800", cls=DocumentEncoder), cls=DocumentDecoder) == "\ud800"
    with pytest.raises(UnicodeEncodeError):
        write_json("\ud800")


def test_a_nul_is_written_as_an_escape():
    assert write_json({"a\0": "b\0"}) == b'{"a\\u0000":"b\\u0000"}'


@pytest.mark.long
@given(st.dictionaries(TEXT, VALUES))
def test_some_members_are_those_of_the_whole(value):
    names = set(sorted(value)[:2])
    expected = {name: below for name, below in value.items() if name in names}

    assert spell(read_members(write_json(value), names)) == spell(expected)


def test_members_of_what_the_fast_codec_refuses():
    assert read_members(b'{"a": "\\ud800", "b": 1}', {"a"}) == {"a": "\ud800"}
    with pytest.raises(ValueError, match="Expecting"):
        read_members(b"{", {"a"})


@given(VALUES)
def test_sorted_bytes_are_those_of_an_equal_document(value):
    turned = json.loads(json.dumps(value, sort_keys=True))

    assert write_sorted(value) == write_sorted(turned)
    assert read_json(write_sorted(value)) == value


def test_sorted_bytes_of_what_the_fast_codec_refuses():
    odd, other = {"b": "\ud800", "a": 1}, {"b": "\ud801", "a": 1}

    assert write_sorted(odd) == write_sorted(dict(reversed(odd.items())))
    assert write_sorted(odd) != write_sorted(other)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"5", 0),
        (b"{}", 1),
        (b'{"a": [{}, []]}', 3),
        (b'{"a": "[[[["}', 1),
        (rb'{"a\"[[": "]]\\", "b": [0]}', 2),
    ],
)
def test_depth_is_counted_in_maps_and_lists_and_not_in_texts(text, depth):
    assert not is_nested_deeper(text, depth)
    assert depth == 0 or is_nested_deeper(text, depth - 1)


def test_answer_that_is_nested_too_deeply_is_refused():
    with pytest.raises(ValueError, match="it is nested too deeply"):
        read_answer(b"[" * 200_000 + b"]" * 200_000)
