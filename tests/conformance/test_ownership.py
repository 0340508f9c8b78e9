"""When an answer about ownership counts as the same, and how a file is read."""

from __future__ import annotations

import gzip
import json

import pytest

from applyviz.conformance.ownership import compare_answers, run_file

UNKNOWN = "failed to create typed patch object (shop/web; /v1, Kind=Pod): "


@pytest.mark.parametrize(
    ("expected", "got", "reason"),
    [
        ({"result": {"a": 1}}, {"result": {"a": 1.0}}, ""),
        ({"result": {"a": 1}}, {"result": {"a": 2}}, "another result"),
        ({"result": {}}, {"error": "broken", "code": 500}, "no result: broken"),
        ({"error": "x", "code": 400}, {"error": "x", "code": 500}, "another error, or none"),
        ({"error": "x"}, {"result": {}}, "another error, or none"),
        ({"error": "expected map, got &{[a]}"}, {"error": "expected map, got &{[b]}"}, ""),
        ({"conflicts": [], "code": 409}, {"result": {}}, "no conflict"),
        (
            {"error": UNKNOWN + "errors:\n  .a: x\n  .b: y", "code": 500},
            {"error": UNKNOWN + "errors:\n  .b: y\n  .c: z", "code": 500},
            "",
        ),
        ({"error": UNKNOWN + ".b: y"}, {"error": UNKNOWN + "errors:\n  .a: x\n  .b: y"}, ""),
        ({"error": UNKNOWN + ".c: y"}, {"error": UNKNOWN + "errors:\n  .a: x\n  .b: y"}, "another error, or none"),
    ],
)
def test_answers_agree_or_not(expected, got, reason):
    assert compare_answers(expected, got) == reason


def test_conflicts_agree_as_a_set_of_manager_and_field():
    both = [{"manager": "a", "field": ".x", "message": "1"}, {"manager": "b", "field": ".y", "message": "2"}]

    assert compare_answers({"conflicts": both, "code": 409}, {"conflicts": both[::-1], "code": 409}) == ""
    assert compare_answers({"conflicts": both, "code": 409}, {"conflicts": both[:1], "code": 409}) == "other conflicts"


def test_broken_case_is_a_disagreement_and_the_others_go_on(tmp_path):
    live = {"metadata": {"managedFields": []}}
    lines = [
        {"input": {"gvk": {"group": "no", "version": "v1", "kind": "No"}, "live": None, "applied": {}, "manager": "a"}},
        {
            "input": {
                "gvk": {"group": "", "version": "v1", "kind": "ConfigMap"},
                "live": live,
                "applied": {},
                "manager": "",
            }
        },
    ]
    expected = {"error": "invalid object type: /, Kind=", "code": 400}
    path = tmp_path / "ssa.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps({**case, "expected": expected}) for case in lines).encode()))

    first, second = run_file(path, "ssa", {})

    assert (first.agrees, first.got["error"]) == (False, "LookupError: no schema for no/v1 No")
    assert (second.agrees, second.name, second.reason) == (True, "ssa.jsonl.gz line 2", "")
