"""Errors of servers are recognized: `recorded` messages come from a real API server, `told` ones from its source."""

from pathlib import Path

import pytest

from applyviz.engine.explain.server_refusals import find_refusal
from applyviz.engine.explain.server_sentences import SENTENCES
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parents[2] / "cases" / "explain" / "server-refusals.yaml")
ALL = [*CASES["told"], *CASES["recorded"]]


@pytest.mark.parametrize("case", ALL, ids=[case["kind"] for case in ALL])
def test_message_is_recognized(case):
    found = find_refusal(case["message"])

    assert found is not None
    assert found.kind == case["kind"]


def test_every_kind_has_a_message_and_a_sentence_that_says_what_to_do():
    assert set(SENTENCES) == {case["kind"] for case in ALL}
    assert len(SENTENCES) >= 30
    assert [kind for kind, text in SENTENCES.items() if not text.endswith(".") or not text[0].isupper()] == []


@pytest.mark.parametrize("text", ["", "the object was not there", "2 of 3 pods are ready", "timed out after 600 s"])
def test_other_texts_stay_as_they_are(text):
    assert find_refusal(text) is None
