"""Check the rules of a definition when it is written: that they can be read, and the types of what they use.

Rule: `pkg/cel/common/schemas.go` of k8s.io/apiserver v0.36.3, and `pkg/apiserver/schema/cel` and
`pkg/apis/apiextensions/validation` of k8s.io/apiextensions-apiserver v0.36.3. `rule_costs` estimates their costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, invalid, invalid_struct
from applyviz.sandbox.cel.nodes import names_in
from applyviz.sandbox.cel.static_types import (
    BOOL,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    STRING,
    StaticType,
    list_of,
    map_of,
    optional_of,
)
from applyviz.sandbox.cel.syntax import parse
from applyviz.sandbox.cel.type_checker import check_expression
from applyviz.sandbox.schema.rule_costs import RuleCost, find_count, find_message_cost, find_rule_cost
from applyviz.sandbox.schema.schema_rules import escape
from applyviz.sandbox.schema.value_sizes import find_most

RULES = "x-kubernetes-validations"
_SELF = "selfType"
_FORMATS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_PATH = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_OF_RESOURCE = ("apiVersion", "kind")


def find_type(schema: JSONObject, name: str = _SELF, *, is_resource: bool = False) -> StaticType | None:
    """Return the type of the values of a schema, None if rules cannot use them.

    - `is_resource`: the schema of a whole object, whose metadata has names.
    """
    found = _find_kind(schema, name, is_resource=is_resource)
    return None if found is None else replace(found, most=find_most(schema))


def _find_kind(schema: JSONObject, name: str, *, is_resource: bool) -> StaticType | None:
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    kind = "object" if is_resource else schema.get("type")
    if kind == "array":
        item = _find_inner(schema.get("items"), f"{name}.@idx")
        return None if item is None else list_of(item)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        value = _find_inner(schema["additionalProperties"], f"{name}.@elem")
        return None if value is None else map_of(replace(STRING, most=0), value)
    if kind == "object":
        return StaticType(name, (), _find_fields(schema, name, is_resource=is_resource))
    if kind == "string":
        form = _FORMATS.get(schema.get("format") or "")
        return StaticType(form) if form else STRING
    return _SCALARS.get(str(kind))


def _find_inner(schema: JSONObject | None, name: str) -> StaticType | None:
    if not isinstance(schema, Mapping):
        return None
    return find_type(schema, name, is_resource=bool(schema.get("x-kubernetes-embedded-resource")))


def _find_fields(schema: JSONObject, name: str, *, is_resource: bool) -> Mapping[str, StaticType]:
    found = {}
    for field, child in (schema.get("properties") or {}).items():
        own, named = _find_inner(child, f"{name}.{field}"), escape(field)
        if own is not None and named is not None:
            found[named] = own
    if is_resource:
        text = replace(STRING, most=find_most({"type": "string"}))
        names = dict.fromkeys(("name", "generateName"), text)
        found |= dict.fromkeys(_OF_RESOURCE, text) | {"metadata": StaticType(f"{name}.metadata", (), names, 0)}
    return found


def check_expressions(
    schema: JSONObject, path: str, costs: list[RuleCost], *, count: int | None, is_resource: bool
) -> Iterator[FieldError]:
    """Yield what is wrong with the rules of one schema, not with those of its children.

    - `costs` gets what the rules cost; `count`: how many values of the schema an object has, None without a limit.
    """
    rules = schema.get(RULES) or ()
    own = find_type(schema, is_resource=is_resource) if rules else None
    if own is None:
        return
    times = find_count(count, schema, is_resource=is_resource)
    for number, rule in enumerate(rules):
        at = f"{path}.{RULES}[{number}]"
        problems = list(_check_rule(rule, own, at))
        yield from problems
        variables = {"self": own, "oldSelf": optional_of(own) if rule.get("optionalOldSelf") else own}
        if not any(problem.path == f"{at}.rule" for problem in problems):
            costs.append(find_rule_cost(rule, at, variables, times))
            if rule.get("messageExpression") and not problems:
                costs.append(find_message_cost(rule, at, variables))


def _check_rule(rule: JSONObject, own: StaticType, path: str) -> Iterator[FieldError]:
    old = optional_of(own) if rule.get("optionalOldSelf") else own
    problem = _check_result(rule["rule"], {"self": own, "oldSelf": old}, BOOL, ("", "cel expression "))
    if problem:
        yield invalid_struct(f"{path}.rule", _show(rule), problem)
    else:
        yield from _check_message(rule, {"self": own, "oldSelf": old}, path)
    if rule.get("optionalOldSelf") is not None and (problem or "oldSelf" not in names_in(parse(rule["rule"]))):
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)


def _check_message(rule: JSONObject, variables: Mapping[str, StaticType], path: str) -> Iterator[FieldError]:
    text = rule.get("messageExpression") or ""
    words = ("messageExpression ", "messageExpression ")
    problem = _check_result(text, variables, STRING, words) if text else ""
    if problem:
        yield invalid_struct(f"{path}.messageExpression", _show(rule), problem)


def _check_result(text: str, variables: Mapping[str, StaticType], result: StaticType, words: tuple[str, str]) -> str:
    """Return why an expression is refused, "" if it is not.

    - `words`: what the server puts before a refusal of its text, and before one of its result.
    """
    found, problem = check_expression(text, variables)
    if problem:
        return f"{words[0]}{problem}"
    if found not in (result, ERROR):
        return f"{words[1]}must evaluate to a {result}"
    return ""


def _show(rule: JSONObject) -> JSONObject:
    """Return a rule as a server prints it, with the names of its Go struct."""
    names = {"rule": "Rule", "message": "Message", "messageExpression": "MessageExpression"}
    shown = {shown: rule.get(name) or "" for name, shown in names.items()}
    return shown | {
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def is_field_path(text: str, schema: JSONObject) -> bool:
    """Return whether a path leads from the values of a schema to a field that it declares."""
    at, inner = 0, schema
    while at < len(text):
        found = _PATH.match(text, at)
        if found is None:
            return False
        name, at = found[1] or found[2], found.end()
        child = (inner.get("properties") or {}).get(name)
        if child is None and not inner.get("properties"):
            child = inner.get("additionalProperties")
        if not isinstance(child, Mapping):
            return False
        inner = child
    return True
