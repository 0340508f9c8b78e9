"""Refuse rules of a definition that cost too much, as the server estimates them.

Rule: `pkg/apis/apiextensions/validation` of k8s.io/apiextensions-apiserver v0.36.3: a rule may
cost 10,000,000 and all rules of a schema together 100,000,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, forbidden
from applyviz.sandbox.cel.cost_estimates import add_costs, estimate_cost, multiply_costs
from applyviz.sandbox.cel.static_types import StaticType
from applyviz.sandbox.cel.syntax import parse
from applyviz.sandbox.cel.type_checker import find_kinds
from applyviz.sandbox.schema.value_sizes import count_entries, count_values

RULE_LIMIT: Final = 10_000_000
TOTAL_LIMIT: Final = 100_000_000
_SHOWN = 4
_MANY, _FEW = 100.0, 1.5


class RuleCost(Struct, frozen=True):
    """The greatest cost of one rule of a definition for one object, and the path of its schema."""

    path: str
    cost: int


def multiply_count(count: int | None, schema: JSONObject) -> int | None:
    """Return how many values of a child a request holds at most, None where nothing limits them."""
    inside = count_entries(schema)
    return None if count is None or inside is None else multiply_costs(count, inside)


def find_rule_cost(rule: JSONObject, path: str, variables: Mapping[str, StaticType], count: int) -> RuleCost:
    """Return what a rule costs at most for all its values."""
    return RuleCost(f"{path}.rule", multiply_costs(_estimate(rule["rule"], variables), count))


def find_message_cost(rule: JSONObject, path: str, variables: Mapping[str, StaticType]) -> RuleCost:
    """Return what the message of a rule costs at most."""
    return RuleCost(f"{path}.messageExpression", _estimate(rule["messageExpression"], variables))


def _estimate(text: str, variables: Mapping[str, StaticType]) -> int:
    node = parse(text)
    return estimate_cost(node, find_kinds(node, variables), variables["self"])


def find_count(count: int | None, schema: JSONObject, *, is_resource: bool) -> int:
    """Return how often the rules of a schema are evaluated for one object at most."""
    return count_values(schema, is_resource=is_resource) if count is None else count


def refuse_costs(costs: Sequence[RuleCost], path: str) -> Iterator[FieldError]:
    """Yield the rules that cost too much, alone and together.

    - `path`: that of the whole schema.
    """
    for one in costs:
        if one.cost > RULE_LIMIT:
            kind = "rule" if one.path.endswith(".rule") else "messageExpression"
            yield forbidden(one.path, _describe(f"estimated {kind} cost", one.cost, RULE_LIMIT))
    total = add_costs(*(one.cost for one in costs))
    if total <= TOTAL_LIMIT:
        return
    greatest = sorted((one for one in costs if one.cost >= TOTAL_LIMIT // 100), key=lambda one: -one.cost)
    for one in greatest[:_SHOWN]:
        yield forbidden(
            one.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        )
    words = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    yield forbidden(path, _describe(words, total, TOTAL_LIMIT))


def _describe(words: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > _MANY else f"{factor:.6f}x" if factor < _FEW else f"{factor:.1f}x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    )
    return f"{words} exceeds budget by factor of {shown} ({advice} declared)"
