"""The words of an entry of the history: by the order of its columns and the names of its body, each once."""

from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.values import canonical_json
from applyviz.records import full_text
from applyviz.records.full_text import collect_words


def test_words_of_a_body_are_sorted_by_name_and_come_once():
    body = {"b": ["Two", {"z": None, "y": True}, ("three", 4)], "a": {"two": "one two"}}

    assert collect_words(["Alice", "shop-one"], body) == "alice shop one a two b y true z three 4"
    assert collect_words(["Alice", "shop-one"], MappingProxyType(body)) == collect_words(["Alice", "shop-one"], body)


def test_numbers_are_words_as_json_writes_them():
    assert collect_words([], [1, True, 1.5, -20, 10**30, False]) == f"1 true 5 20 {10**30} false"


def test_of_a_very_long_body_only_the_first_words_are_kept(monkeypatch):
    monkeypatch.setattr(full_text, "_MOST", 5)

    assert collect_words(["a b"], {f"n{number}": f"v{number}" for number in range(9)}) == "a b n0 v0 n1"


TEXTS = st.text(st.sampled_from('aZ9_-"\\/\n\x00\x1f\x7f null\u00e9\u0338\u017f'), max_size=9) | st.sampled_from(
    ["null", "x" * 70, "a:null,b", "\\u0041", "\\n", "e\u0301"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
BODIES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXTS, v, max_size=4), max_leaves=15)


@given(st.lists(TEXTS, max_size=3), st.dictionaries(TEXTS, BODIES, max_size=4))
def test_words_are_the_same_whether_or_not_a_body_was_written(columns, body):
    assert collect_words(columns, body, canonical_json(body)) == collect_words(columns, body)


def test_written_body_is_not_walked(monkeypatch):
    body = {"image": 'web:"1"', "path": "a\nb"}
    monkeypatch.setattr(full_text, "_list_texts", None)

    assert collect_words(["Alice"], body, canonical_json(body)) == "alice image web 1 path a b"
