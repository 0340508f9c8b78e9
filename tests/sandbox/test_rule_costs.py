"""Cost estimates of CRD rules, and refusals of expensive ones; recorded from kube-apiserver v1.36.3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.cost_estimates import MOST, estimate_cost
from applyviz.sandbox.cel.syntax import parse
from applyviz.sandbox.cel.type_checker import find_kinds
from applyviz.sandbox.schema.definition_schemas import check_schema
from applyviz.sandbox.schema.rule_types import find_type
from applyviz.sandbox.schema.value_sizes import find_least, find_most
from tests.yaml_files import read_yaml

RECORDED = read_yaml(Path(__file__).parent / "data" / "rule-costs.yaml")
PATH = "spec.validation.openAPIV3Schema"
AT = f"{PATH}.properties[spec].x-kubernetes-validations[0]"
ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
TEXT = {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "min": {"type": "integer"},
        "name": {"type": "string", "maxLength": 10},
        "tags": {"type": "array", "items": TEXT},
        "few": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
        "labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
    },
}


def refuse(rule: Any, **spec: Any) -> list[str]:
    schema = {"type": "object", "properties": {"spec": {**SPEC, **spec, "x-kubernetes-validations": [rule]}}}
    return [str(problem) for problem in check_schema(schema, PATH, has_status=False)]


def estimate(text: str) -> int:
    own = find_type(SPEC)
    assert own is not None
    node = parse(text)
    return estimate_cost(node, find_kinds(node, {"self": own}), own)


def test_rule_over_two_lists_without_a_limit_is_refused():
    assert refuse({"rule": "self.tags.exists(t, self.tags.exists(u, u == t))"}) == [
        f"{AT}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {ADVICE}",
        f"{AT}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
        "schema",
        f"{PATH}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds "
        f"budget by factor of more than 100x {ADVICE}",
    ]


def test_message_of_a_text_without_a_limit_is_refused():
    found = refuse({"rule": "self.min > 0", "messageExpression": "'min is ' + string(self.min)"})

    assert found[0] == (
        f"{AT}.messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than "
        f"100x {ADVICE}"
    )


@pytest.mark.parametrize(
    "rule", ["self.tags.all(t, t.size() < 5)", "self.few.all(f, self.few.exists(g, f != g))", "self.min > 0"]
)
def test_rule_within_the_limits_is_accepted(rule):
    assert refuse({"rule": rule}) == []


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("1", 0),
        ("self.min", 2),
        ("self.min > 0", 3),
        ("self.min == 0", 2),
        ("self.min == self.min", 4),
        ("has(self.min)", 1),
        ("self.name == 'abc'", 3),
        ("self.name.startsWith('abc')", 3),
        ("self.name.matches('^[a-z]+$')", 2 + 5 * 2),
        ("self.name.contains('a')", 2 + 4),
        ("self.name + 'a'", 2 + 5),
        ("self.min > 0 && self.min < 5 || self.min == 7", 3 + 3 + 2),
        ("self.min > 0 ? 'a' : self.name", 3 + 2),
        ("self.few.all(f, f == 'a')", 2 + 1 + 10 * (3 + 1 + 1)),
        ("self.few.exists(f, f == 'a')", 2 + 1 + 10 * (4 + 1 + 1)),
        ("self.few.exists_one(f, f == 'a')", 2 + 2 + 10 * (2 + 1 + 1)),
        ("self.few.filter(f, f == 'a').size()", 2 + 11 + 10 * (13 + 2) + 1),
        ("self.few.map(f, f).size()", 2 + 11 + 10 * (12 + 1) + 1),
        ("self.few.map(f, f).all(g, g.contains('abc'))", 2 + 11 + 10 * 13 + 1 + 10 * (3 + 1)),
        ("type(self.min) == int", 2 + 1 + 1),
        ("sets.contains(self.few, ['a', 'b'])", 2 + 10 + 1 + 10 * 2),
        ("sets.equivalent(self.few, self.few)", 2 + 2 + 1 + 10 * 10 * 2),
        ("format.dns1123Label().validate(self.name).hasValue()", 1 + 2 + 4 * 32 + 1),
        ("self.few.map(f, f)[0] == 'abc'", 2 + 11 + 10 * 13 + 1 + 1),
        ("self.few[0] == self.few[1]", (2 + 1) * 2 + 8),
        ("'a' in self.few", 2 + 10),
        ("'a' in self.labels", 2 + 1),
        ("self.labels.all(k, self.labels[k] > 0)", 2 + 1 + 5 * (3 + 2 + 1 + 1 + 1)),
        ("[1, 2].size()", 11),
        ("{'a': 1}.a", 31),
        ("[self.name][0] == 'abc'", 12 + 1 + 1),
        ("self.few.join()", 2 + 80),
        ("self.few.join(',')", 2 + 81),
        ("self.few.isSorted()", 2 + 10 * 9),
        ("self.name.split(',').size()", 2 + 8 + 1),
        ("self.name.replace('a', 'bc').size()", 2 + 8 + 1),
        ("self.name.lowerAscii().size()", 2 + 4 + 1),
        ("self.name.indexOf('a')", 2 + 4),
        ("bytes(self.name).size()", 2 + 4 + 1),
        ("string(self.name).size()", 2 + 1 + 1),
        ("quantity(self.name).isGreaterThan(quantity('1Gi'))", 2 + 4 + 1 + 1),
        ("(self.few + self.few)[0] == 'abc'", 5 + 1),
        ("(true ? ['a'] : ['bc'])[0] == 'abc'", 10 + 1 + 1),
        ("self.labels.map(k, self.labels[k]).sum()", 2 + 11 + 5 * (12 + 4) + 5),
    ],
)
def test_expression_costs_at_most(text, cost):
    assert estimate(text) == cost


@pytest.mark.parametrize(
    ("schema", "least", "most"),
    [
        (TEXT, 2, 3 * 1024 * 1024 - 2),
        ({"type": "string", "maxLength": 3}, 2, 12),
        ({"type": "string", "enum": ["a", "abc"]}, 2, 3),
        ({"type": "string", "format": "byte", "maxLength": 3}, 2, 3),
        ({"type": "string", "format": "date"}, 12, 12),
        ({"type": "string", "format": "duration", "maxLength": 3}, 3, 32),
        ({"x-kubernetes-int-or-string": True, "maxLength": 3}, 1, 12),
        ({"type": "boolean"}, 4, 0),
        ({"type": "array", "items": TEXT}, 2, (3 * 1024 * 1024 - 2) // 3),
        ({"type": "object", "additionalProperties": TEXT}, 2, (3 * 1024 * 1024 - 2) // 8),
        ({"type": "object", "properties": {"ab": TEXT}, "required": ["ab"]}, 2 + 2 + 2 + 4, 0),
        ({"type": "object", "properties": {"ab": {**TEXT, "default": ""}}, "required": ["ab"]}, 2, 0),
    ],
)
def test_values_have_a_least_and_a_greatest_size(schema, least, most):
    assert (find_least(schema), find_most(schema)) == (least, most)


def test_size_of_a_number_as_text_is_unknown():
    assert estimate("string(self.min) + 'a'") > MOST // 20
    assert estimate("self.few.filter(f, true).join()") > MOST // 20


def test_factor_is_shown_as_it_is():
    big = {
        "type": "array",
        "maxItems": 2000,
        "items": {"type": "array", "maxItems": 1100, "items": {"type": "integer"}},
    }

    found = refuse({"rule": "self.big.all(b, b.all(c, c > 0))"}, properties={"big": big})

    assert found == [f"{AT}.rule: Forbidden: estimated rule cost exceeds budget by factor of 1.101000x {ADVICE}"]


@pytest.mark.parametrize("case", RECORDED["rules"], ids=lambda case: case["rule"])
def test_rule_is_answered_as_the_server_answered_it(case):
    spec = {
        "type": "object",
        "properties": RECORDED["properties"],
        "x-kubernetes-validations": [{"rule": case["rule"]}],
    }
    found = check_schema({"type": "object", "properties": {"spec": spec}}, PATH, has_status=False)

    assert sorted(f"{problem.path.rpartition('.')[2]}: {problem.body}" for problem in found) == case["refused"]
