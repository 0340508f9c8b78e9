"""Every named case of ownership: what the libraries of the API server answered, and what the engine answers."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from applyviz.conformance.ownership import Kinds, answer, compare_answers
from tests.yaml_files import read_yaml

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "ownership"
DEFINITIONS = read_yaml(FOLDER / "definitions.yaml")
CASES = [
    pytest.param(case, id=f"{path.stem}-{case['name']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.stem != "definitions"
    for case in read_yaml(path)
]


@pytest.fixture(scope="module")
def kinds():
    return Kinds(DEFINITIONS)


@pytest.mark.parametrize("case", CASES)
def test_answer_is_that_of_the_libraries(case, kinds):
    before = copy.deepcopy(case["input"])

    got = answer(case["family"], case["input"], kinds)

    assert compare_answers(case["expected"], got) == "", got
    assert case["input"] == before  # inputs are never changed


@pytest.mark.parametrize("case", [c for c in CASES if "message" in c.values[0]["expected"]])
def test_message_is_that_of_the_server(case, kinds):
    assert answer(case["family"], case["input"], kinds)["message"] == case["expected"]["message"]
