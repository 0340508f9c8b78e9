"""The words of an entry of the history: by the order of its columns and the names of its body, each once."""

from types import MappingProxyType

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
