"""Hostile size: what people bring may be long, and costs time in proportion, not by its square.

Each text is long enough that a quadratic rule takes ten times the limit on any machine that runs this.
"""

from __future__ import annotations

import random
from fnmatch import fnmatchcase

import pytest

from applyviz.engine.diff import embedded, embedded_documents, structural
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.risks.lists import ATOMIC_LIST_REPLACED
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.risks.rules import find_risks
from applyviz.engine.risks.traffic import EXPOSED
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery
from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.programs import evaluate
from applyviz.sandbox.schema.structural import validate
from applyviz.web.templatetags.applyviz import breakable, ticked, visible, wrap_camel_case
from applyviz.workflow.foundation.scopes import fits
from tests.pace import measure

pytestmark = pytest.mark.attacks
SECONDS = 2.0
LENGTH = 240_000


@pytest.mark.core(4)
@pytest.mark.parametrize("printed", [breakable, wrap_camel_case, ticked, visible])
@pytest.mark.parametrize("unit", ["a.", "aB", "a<", "`a", "a-", '"', "a\u202e", "a>"])
def test_words_of_a_page_are_broken_in_linear_time(printed, unit):
    text = unit * (LENGTH // len(unit) // (8 if "\u202e" in unit else 1))

    _, seconds = measure(printed, text)

    assert seconds < SECONDS


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (embedded.looks_secret, "\n" * LENGTH),
        (embedded.looks_secret, "- \n" * (LENGTH // 3)),
        (embedded_documents.read_yaml, "a" + " " * LENGTH + "\nb"),
        (lambda text: structural.is_equal_in_meaning(text, "2"), "1" * LENGTH),
        (lambda text: structural.is_equal_in_meaning(text, "2"), "1" * LENGTH + "x"),
    ],
)
def test_texts_inside_of_objects_are_read_in_linear_time(read, text):
    _, seconds = measure(read, text)

    assert seconds < SECONDS


@pytest.mark.parametrize("pattern", ["*a" * 30 + "b", "*a*" * 20 + "b", "?*" * 30 + "b", "*" * 63, "*aab" * 15])
def test_patterns_of_grants_are_matched_in_linear_time(pattern):
    is_fitting, seconds = measure(fits, pattern, "a" * 5_000)

    assert seconds < SECONDS
    assert is_fitting == (pattern == "*" * 63)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)*$", "^(a|a)*b$", "^(.*a){25}b$", "^((a?){50}a{50})*$"])
def test_patterns_of_definitions_are_matched_in_linear_time(pattern):
    text = "a" * (LENGTH // 4) + "!"

    found, seconds = measure(lambda: [str(one) for one in validate(text, {"type": "string", "pattern": pattern})])
    called, more = measure(evaluate, "self.matches(p)", {"self": text, "p": pattern})

    assert (len(found), called) == (1, False)
    assert max(seconds, more) < SECONDS


def test_patterns_mean_what_they_meant():
    rolled = random.Random(7)
    pairs = [
        ("".join(rolled.choices("ab*?", k=rolled.randint(0, 7))), "".join(rolled.choices("ab", k=rolled.randint(0, 8))))
        for _ in range(3_000)
    ]

    assert [pair for pair in pairs if fits(*pair) != fnmatchcase(pair[1], pair[0])] == []


def test_ranges_of_clients_are_compared_in_linear_time():
    """A load balancer with thousands of ranges before and after; the last one is new."""
    every = [f"10.{n // 256}.{n % 256}.0/24" for n in range(0, 20_000, 2)]
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    live, after = (
        {**head, "spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ranges}}
        for ranges in (every, [*every, "192.0.2.0/24"])
    )
    subject = RiskSubject(ObjectRef.from_object(live), manifest=after, live=live, after=after)

    (risk,), seconds = measure(lambda: [risk for risk in find_risks(subject) if risk.kind is EXPOSED])

    assert seconds < SECONDS
    assert risk.facts["added"] == "192.0.2.0/24"


def test_lists_of_another_manager_are_compared_in_linear_time():
    """Every entry of a long list with owners is another one afterwards."""
    head = {"apiVersion": "v1", "kind": "Service"}
    owned = {
        "manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:loadBalancerSourceRanges": {}}},
    }  # fmt: skip
    live, after = (
        {
            **head, "metadata": {"name": "s", "managedFields": [{**owned, "manager": f"m{n}"} for n in range(30)]},
            "spec": {"loadBalancerSourceRanges": [f"{first}.{n // 256}.{n % 256}.0/24" for n in range(10_000)]},
        }
        for first in (10, 11)
    )  # fmt: skip
    subject = RiskSubject(ObjectRef.from_object(live), manifest=after, live=live, after=after, merged=after)

    (risk,), seconds = measure(lambda: [risk for risk in find_risks(subject) if risk.kind is ATOMIC_LIST_REPLACED])

    assert seconds < SECONDS
    assert risk.facts["lost"] == "10000"


def write_deployment(count: int, word: str) -> str:
    """Return a Deployment with many variables, in several containers."""
    variables = ", ".join(f"{{name: V{n}, value: {word}{n}}}" for n in range(count // 4))
    containers = "".join(f"      - {{name: c{n}, image: b, env: [{variables}]}}\n" for n in range(4))
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  selector: {matchLabels: {a: b}}\n"
        f"  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n{containers}"
    )


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_conflicts_in_long_lists_cost_time_in_proportion(mode):
    def explain(count: int) -> float:
        last = "" if mode is ApplyMode.SERVER else write_deployment(count, "c")
        given = PlaygroundQuery(write_deployment(count, "a"), write_deployment(count, "b"), last, mode=mode)
        return min(measure(lambda: playground.explain(given, now="2026-01-01T00:00:00Z"))[1] for _ in range(2))

    small, large = explain(240), explain(960)

    assert large / small < 8, f"four times the size took {large / small:.1f} times as long"
