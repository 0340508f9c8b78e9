"""Does a text repeat a value of a Secret, in whatever form?"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from applyviz.engine.diff.repeating import Repeats, find_secrets
from applyviz.engine.objects.refs import GroupVersionKind
from tests.pace import measure

SECRET = GroupVersionKind("", "v1", "Secret")
VALUE = "Tr0ub4dor&3 is <long>\nenough"


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        base64.b64encode(VALUE.encode()).decode(),
        json.dumps(VALUE),
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        VALUE[:14],
        VALUE[-12:],
        VALUE[:9] + "\n   " + VALUE[9:],
        base64.b64encode(VALUE.encode()).decode()[3:25],
    ],
)
def test_every_form_of_a_value_is_recognized(written):
    assert Repeats([VALUE]).are_in(f"cannot unmarshal {written} into field data")


def test_short_values_are_recognized_as_words():
    repeats = Repeats(["hunter2", "ab"])

    assert repeats.are_in("bad hunter2 here")
    assert repeats.are_in("hunter2")
    assert repeats.are_in("it is 'ab'")
    assert not repeats.are_in("hunter22 stays, and so do cab and ab")


def test_text_without_secrets_repeats_none():
    assert not Repeats([VALUE, ""]).are_in("nothing here")
    assert not Repeats([]).are_in(VALUE)


def test_very_long_values_are_recognized_by_their_parts():
    value = "".join(chr(33 + i * i * 7 % 90) for i in range(90_000))

    assert Repeats([value]).are_in(f"got {value[50_000:50_016]}.")


def test_the_cost_is_linear_in_values_and_texts():
    values = [f"{n:04d}-value-{n * n:08d}-{n}" for n in range(2_000)] + [f"s{n}" for n in range(2_000)]

    def look() -> bool:
        repeats = Repeats(values)
        return any(
            repeats.are_in(f"a plain text of the annotation {n} that repeats no value" * 4) for n in range(2_000)
        )

    is_found, seconds = measure(look)

    assert (is_found, seconds < 10) == (False, True)


def test_find_secrets_reads_every_wrapping():
    inner = {"kind": "Secret", "data": {"a": base64.b64encode(b"inner").decode()}, "stringData": {"n": 7, "e": ""}}
    obj = {
        "kind": "Secret",
        "data": {"b": base64.b64encode(b"outer").decode(), "list": ["x1", True, None]},
        "metadata": {"annotations": {"saved": json.dumps(inner), "plain": "no object at all"}},
        "items": [{"data": {"c": "not base64!"}}],
    }

    found = find_secrets(obj, gvk=SECRET)

    assert {"inner", "outer", "7", "x1", "not base64!"} <= found
    assert "" not in found
    assert find_secrets({"data": {"a": "x"}}, gvk=GroupVersionKind("", "v1", "ConfigMap")) == frozenset()


def test_words_that_are_as_long_together_as_a_copy_are_hidden_whatever_they_are():
    """No text of a language changes its letters so often: together, the words may be a copy that nothing reads."""
    words = {"a": "aB3dE6gH9 and kL2mN5pQ8 then", "b": "rS1tU4vW7 xY0zA3bC6 dE9fG2hI5 jK8lM1nO4 pQ7rS0tU3vW6"}
    few = {"a": words["a"], "c": "plain words"}

    assert Repeats([VALUE]).find_cut({**words, **few}, {**words, **few}) == {"a", "b"}
    assert Repeats([VALUE]).find_cut(few, few) == set()
    assert Repeats([]).find_cut(words, words) == set()
