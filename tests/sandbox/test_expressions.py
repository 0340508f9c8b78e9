"""Refusals of expressions in the words of the server; recorded from kube-apiserver v1.36.3."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.cost_estimates import estimate_cost
from applyviz.sandbox.cel.static_types import INT, STRING, StaticType, list_of, map_of, optional_of
from applyviz.sandbox.cel.syntax import NotReadableError, parse
from applyviz.sandbox.cel.type_checker import check_types, find_kinds, render_problems
from applyviz.sandbox.schema.definition_schemas import check_schema
from applyviz.sandbox.schema.rule_types import is_field_path
from applyviz.sandbox.storage.store import MemoryStore
from tests.pace import measure
from tests.yaml_files import read_yaml

FIELDS = {"min": INT, "max": INT, "name": STRING, "tags": list_of(STRING), "labels": map_of(STRING, STRING)}
SELF = StaticType("selfType", (), FIELDS)
SCOPE = {"self": SELF, "oldSelf": optional_of(SELF)}
SPEC = {"type": "object", "properties": {"min": {"type": "integer"}, "size": {"x-kubernetes-int-or-string": True}}}
PATH = "spec.validation.openAPIV3Schema"
PATH_OF_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICIES = read_yaml(Path(__file__).parent / "data" / "policy-expressions.yaml")
RULES = f"{PATH}.properties[spec].x-kubernetes-validations[0]"


def check(text: str) -> tuple[str, list[str]]:
    found, problems = check_types(parse(text), SCOPE)
    return str(found), [problem.text for problem in problems]


def refuse_rule(rule: Any, **spec: Any) -> list[str]:
    schema = {"type": "object", "properties": {"spec": {**SPEC, **spec, "x-kubernetes-validations": [rule]}}}
    return [str(problem) for problem in check_schema(schema, PATH, has_status=False)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("self.min <= self.most", "undefined field 'most'"),
        ("has(self.most)", "undefined field 'most'"),
        ("self.min <= self.name", "found no matching overload for '_<=_' applied to '(int, string)'"),
        ("self.min == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.min == null", "found no matching overload for '_==_' applied to '(int, null)'"),
        ("spec.min", "undeclared reference to 'spec' (in container '')"),
        ("self.name.nope()", "undeclared reference to 'nope' (in container '')"),
        ("self.min.startsWith('a')", "found no matching overload for 'startsWith' applied to 'int.(string)'"),
        ("true ? true : 1", "found no matching overload for '_?_:_' applied to '(bool, bool, int)'"),
        ("self.tags.exists(t, t)", "expected type 'bool' but found 'string'"),
        ("self.name || true", "expected type 'bool' but found 'string'"),
        (
            "self.tags.filter(t, t)",
            "found no matching overload for '_?_:_' applied to '(string, list(string), list(string))'",
        ),
        (
            "self.name.all(x, true)",
            "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("[?self.min]", "expected type 'optional_type(int)' but found 'int'"),
        ("[?oldSelf.most]", "undefined field 'most'"),
        ("self.tags[0].first", "type 'string' does not support field selection"),
        ("oldSelf.min == self.min", "found no matching overload for '_==_' applied to '(optional_type(int), int)'"),
    ],
)
def test_expression_is_refused_for_its_types(text, problem):
    assert check(text)[1] == [problem]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("self.min < 2.5 && self.max > 1", "bool"),
        ("self.tags.map(t, t.size()).sum()", "int"),
        ("self.labels.all(k, self.labels[k] in self.tags)", "bool"),
        ("self.labels.all(k, v, k != v)", "bool"),
        ("self.tags.exists_one(t, t == 'a')", "bool"),
        ("oldSelf.?min.orValue(0)", "int"),
        ("oldSelf.optMap(o, o.min).hasValue()", "bool"),
        ("optional.of(self.min).value() + 1", "int"),
        ("self.labels.?a", "optional_type(string)"),
        ("self.tags[?0]", "optional_type(string)"),
        ("quantity(self.name).isGreaterThan(quantity('1Gi'))", "bool"),
        ("timestamp(self.name) - duration('1h') < timestamp('2026-01-01T00:00:00Z')", "bool"),
        ("sets.contains(self.tags, ['a'])", "bool"),
        ("{'a': self.min}.a", "int"),
        ("[1, 'a']", "list(dyn)"),
        ("[?oldSelf.min]", "list(int)"),
        ("{?'a': oldSelf.min}", "map(string, int)"),
        ("type(self.min) == int", "bool"),
        ("self.tags.transformList(i, t, i)", "!error!"),
        ("dyn(self.min) == 'a'", "bool"),
        ("url(self.name).getQuery()", "map(string, list(string))"),
        ("self.tags.filter(t, true)", "list(string)"),
        ("self.tags.map(t, true, t.size())", "list(int)"),
        ("dyn(1).all(x, x.y)", "bool"),
        ("dyn(1).b[0] == -self.min", "bool"),
        ("dyn(1).check('get').allowed()", "bool"),
        ("cidr('10.0.0.0/8').containsIP(self.name)", "bool"),
    ],
)
def test_expression_has_its_type(text, found):
    assert check(text)[0] == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("self.name.matches('[')", "invalid matches argument"),
        ("duration('1 day') > duration('1h')", "invalid duration argument"),
        ("timestamp('today') > timestamp('2026-01-01T00:00:00Z')", "invalid timestamp argument"),
        ("[1, 'a', true].size() > 1", "expected type 'int' but found 'string'"),
        ("[1, dyn(2)].size() > 1", "expected type 'int' but found 'dyn'"),
        ("{'a': 1, 'b': 'c'}.size() > 1", "expected type 'int' but found 'string'"),
        ("{'a': 1, 2: 1}.size() > 1", "expected type 'string' but found 'int'"),
    ],
)
def test_literal_is_refused(text, problem):
    assert check(text)[1] == [problem]


def test_list_of_format_may_hold_anything():
    assert check("'%s %d'.format([self.name, 1])") == ("!error!", [])
    assert check("[?oldSelf.?min, 1].size() > 1 && {?'a': oldSelf.?min, 'b': 1}.size() > self.tags[0].size()")[1] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(self.min", "ERROR: <input>:1:10: Syntax error: missing ')' at '<EOF>'"),
        ("self.", "ERROR: <input>:1:6: Syntax error: no viable alternative at input '.'"),
        ("namespace == 'a'", "ERROR: <input>:1:1: reserved identifier: namespace"),
        ("", "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting"),
    ],
)
def test_text_is_refused_where_it_is_wrong(text, problem):
    with pytest.raises(NotReadableError) as found:
        parse(text)

    assert str(found.value).startswith(problem)


def test_refusal_points_at_the_place():
    text = "self.min > 1 ||\n\t'ä' == self.most"

    assert render_problems(text, check_types(parse(text), SCOPE)[1]).splitlines() == [
        "ERROR: <input>:2:13: undefined field 'most'",
        " |  'ä' == self.most",
        " | ..\uff0e.........^",
    ]


def test_text_that_ends_too_early_is_refused_where_it_ends():
    with pytest.raises(
        NotReadableError, match=r"ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting"
    ):
        parse("self.min <")


def test_rule_of_a_definition_is_refused_with_the_rule():
    assert refuse_rule({"rule": "self.min"}) == [
        f'{RULES}.rule: Invalid value: {{"Rule":"self.min","Message":"","MessageExpression":"","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool'
    ]
    assert refuse_rule({"rule": "self.size == 1 || self.size == '1'"}) == []


def test_message_of_a_rule_is_a_text():
    found = refuse_rule({"rule": "self.min > 0", "messageExpression": "self.min"})
    assert [one.rpartition("}: ")[2] for one in found] == ["messageExpression must evaluate to a string"]
    assert refuse_rule({"rule": "self.min > 0", "messageExpression": "'a'"}) == []


def test_rule_with_an_optional_old_value_uses_it():
    found = refuse_rule({"rule": "self.min > 0", "optionalOldSelf": True})
    assert found == [f"{RULES}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"]


def test_rules_of_a_broken_schema_are_not_compiled():
    broken = {"items": {"type": "string"}, "type": "array", "x-kubernetes-list-type": "odd"}
    found = refuse_rule({"rule": "self.most > 0"}, properties={"list": broken})
    assert [one for one in found if "compilation" in one] == []
    assert len(found) == 1


def test_whole_objects_have_names():
    rule = {"rule": "self.metadata.name != self.kind && self.apiVersion != ''"}
    schema = {"type": "object", "properties": {}, "x-kubernetes-validations": [rule]}
    assert list(check_schema(schema, PATH, has_status=False)) == []


@pytest.mark.parametrize(
    ("path", "is_path"),
    [(".a", True), (".a.b", True), (".a['c']", True), (".m.any", True), ("a", False), (".b", False), (".a.b.c", False)],
)
def test_field_path_leads_to_a_field(path, is_path):
    inner = {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}
    free = {"type": "object", "additionalProperties": {"type": "string"}}
    assert is_field_path(path, {"properties": {"a": inner, "m": free}}) is is_path


@pytest.mark.core(1)
@pytest.mark.parametrize("sign", ["&&", "||"])
def test_condition_may_have_any_number_of_sides(sign):
    """A server builds a flat tree of them."""
    many = f" {sign} ".join(["self.min < 3"] * 3000)

    assert refuse_rule({"rule": many}) == []
    assert "undefined field 'most'" in refuse_rule({"rule": f"{many} {sign} self.most"})[0]
    assert "expected type 'bool'" in refuse_rule({"rule": f"{many} {sign} self.min"})[0]


def test_expression_that_is_nested_too_deeply_is_refused():
    (problem,) = refuse_rule({"rule": f"1{'+1' * 3000} == 1"})
    (nested,) = refuse_rule({"rule": f"{'(' * 3000}true{')' * 3000}"})

    assert "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded" in problem
    assert "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250" in nested


def test_refusal_is_no_longer_than_that_of_a_server():
    """It has a hundred problems, and no line of more than 16 KiB."""
    (many,) = refuse_rule({"rule": " && ".join(["x"] * 150)})
    (long,) = refuse_rule({"rule": f"x == '{'a' * 17_000}'"})

    assert many.count("undeclared reference to 'x'") == 100
    assert many.endswith("\n50 more errors were truncated")
    assert long.endswith("ERROR: <input>:1:1: undeclared reference to 'x' (in container '')")


def test_types_that_double_cost_no_more_than_their_text():
    """Twenty-two steps took half a minute, and each further one twice as long."""
    doubled = "[1]" + ".map(a, {a: a})" * 60

    assert measure(lambda: refuse_rule({"rule": f"{doubled} == {doubled}"}))[1] < 1
    assert measure(lambda: refuse_rule({"rule": f"{doubled} == 1"}))[1] < 1


def write_policy(expression: str, part: str) -> MutableObject:
    resources = {"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["a"]}
    spec = {"matchConstraints": {"resourceRules": [resources]}, "validations": [{"expression": "true"}]}
    given = {"expression": expression} if part == "validations" else {"name": "a", "expression": expression}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {**spec, part: [given]},
    }


@pytest.mark.parametrize("case", POLICIES["policies"], ids=lambda case: f"{case['as']} {case['expression']}")
def test_expression_of_a_policy_is_answered_as_the_server_answered_it(case):
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    policy = write_policy(case["expression"], f"{case['as']}s")
    answer = sandbox.handle(Request("POST", PATH_OF_POLICIES, {"dryRun": "All"}, JSON, policy))

    causes = answer.body.get("details", {}).get("causes", ()) if answer.status != 201 else ()
    assert sorted(f"{cause['field']}: {cause['message']}" for cause in causes) == case["refused"]
    assert answer.status == (422 if case["refused"] else 201)


def test_variable_of_a_policy_has_the_type_of_its_expression():
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    policy = write_policy("variables.v == 1", "validations")
    policy["spec"]["variables"] = [{"name": "v", "expression": "'a'"}, {"name": "w", "expression": "variables.v + 1"}]
    answer = sandbox.handle(Request("POST", PATH_OF_POLICIES, {}, JSON, policy))

    assert "found no matching overload for '_+_' applied to '(string, int)'" in answer.message
    assert "found no matching overload for '_==_' applied to '(string, int)'" in answer.message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a'", ""),
        ("null", ""),
        ("variables.v", ""),
        ("1", "must evaluate to one of [string null_type] but got int"),
        ("object.a", "must evaluate to one of [string null_type] but got dyn"),
        ("params.a", "undeclared reference to 'params'"),
    ],
)
def test_value_of_an_audit_annotation_is_text_or_null(text, problem):
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    policy = write_policy("true", "validations")
    policy["spec"]["variables"] = [{"name": "v", "expression": "'a'"}]
    policy["spec"]["auditAnnotations"] = [{"key": "k", "valueExpression": text}]

    answer = sandbox.handle(Request("POST", PATH_OF_POLICIES, {"dryRun": "All"}, JSON, policy))

    assert answer.is_ok is (problem == "")
    assert problem in answer.body.get("message", "")


def test_list_of_maps_has_their_most_general_type():
    """As `joinTypes` of cel-go: the server then refuses the comparison, not the entry of another type."""
    _, (problem,) = check("self.tags == [{'a': 'b'}, {'a': 'c', 'd': 1}]")

    assert "applied to '(list(string), list(map(string, dyn)))'" in problem
    assert check("[[1], ['a'], [dyn(1)]]")[0] == "list(dyn)"
    assert check("[[dyn(1)], ['a']]")[0] == "list(list(dyn))"


@pytest.mark.parametrize(
    "rule",
    [
        "cidr('10.0.0.0/8').masked() == cidr('10.0.0.0/8')",
        "ip('1.2.3.4') == ip('1.2.3.4')",
        "quantity('2') == quantity('1')",
        "semver('2.0.0') == semver('1.0.0')",
        "url('https://a') == url('https://b')",
    ],
)
def test_values_of_kubernetes_cost_little_to_compare(rule):
    tree = parse(rule)
    kinds = find_kinds(tree, {"self": SELF})

    assert estimate_cost(tree, kinds, SELF) < 20
