"""The judge of the playground reads refusals of kubectl and answers samples of the records correctly."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from applyviz.conformance.exceptions import EXCEPTIONS
from applyviz.conformance.playground import judge_input, read_causes, split_causes

WIDE = Path(__file__).parent / "wide"
RULES = WIDE / "playground-rules.jsonl.gz"
EVERYDAY = WIDE / "playground-everyday.jsonl.gz"
FURTHER = WIDE / "playground-further.jsonl.gz"
OWNERS = WIDE / "playground-owners.jsonl.gz"
# What the playground once answered otherwise.
ONCE_WRONG = (
    *(f"ledger-{field}-" for field in ("ip4", "ip6", "uri", "isbn", "card", "codes", "steps")),
    *(
        "settings-data-server-12",
        "settings-data-server-23",
        "disk-resources-",
        "disk-volumemode-",
        "outside-clusterip-",
    ),
    *("budget-scopes-", "pod-terminationgraceperiodseconds-", "logs-updatestrategy-", "logs-labels-", "shop-labels-"),
    *(f"reckon-{field}-" for field in ("emb", "ip", "sem", "conv", "dur", "cidr")),
)


def test_causes_after_the_lines_of_a_struct_count():
    refusal = (
        'The PersistentVolumeClaim "data" is invalid: \n'
        "* spec: Forbidden: spec is immutable after creation\n"
        '@@ -5,9 +5,7 @@\n  "Selector": null,\n-  "Requests": {\n+  "Requests": null\n  },\n\n'
        "* spec.resources.requests.storage: Forbidden: field can not be less than status.capacity\n"
    )

    assert read_causes(refusal) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
        "spec: Forbidden: spec is immutable after creation",
    ]


def test_cause_goes_on_where_the_compiler_points():
    refusal = (
        'The CustomResourceDefinition "a" is invalid: \n* spec.a: Invalid value: 1: compilation failed: '
        "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a == b\n | ^\n"
        "ERROR: <input>:1:6: undeclared reference to 'b' (in container '')\n | a == b\n | .....^\n"
        "* spec.b: Required value\n"
    )

    found = read_causes(refusal)
    assert [one.partition(":")[0] for one in found] == ["spec.a", "spec.b"]
    assert found[0].endswith(" | .....^")


def list_left_out():
    return tuple(name for one in EXCEPTIONS if "playground" in one.families for name in one.names)


def load_sample():
    """What people may hardly notice, and of the other inputs one of each dozen."""
    lines = gzip.decompress(RULES.read_bytes()).splitlines()
    cases = [json.loads(line) for line in lines]
    always = ("spec.resources-", "spec.securitycontext-", "spec.devices.requests-", "pod-whole")
    chosen = [case for i, case in enumerate(cases) if i % 12 == 0 or any(word in case["name"] for word in always)]
    return [case for case in chosen if not case["name"].startswith(list_left_out())]


def test_sampled_rules_are_told_as_the_server_told_them():
    cases = load_sample()
    judged = [judge_input("playground", case) for case in cases]

    assert len(cases) > 100
    assert [(one.name, one.expected, one.got) for one in judged if not one.agrees] == []


def test_sampled_inputs_of_every_day_are_answered_as_the_server_answered_them():
    """One of twelve everyday inputs, and all inputs with expressions, which are another language."""
    cases = [json.loads(line) for line in gzip.decompress(EVERYDAY.read_bytes()).splitlines()]
    chosen = [
        c for i, c in enumerate(cases) if i % 12 == 0 or c["name"].startswith(("kind-x-", "hook-matchconditions"))
    ]
    kept = [case for case in chosen if not case["name"].startswith(list_left_out())]

    assert len(kept) > 100
    judged = [judge_input("playground", case) for case in kept]
    assert [(one.name, one.expected, one.got) for one in judged if not one.agrees] == []


def test_sampled_further_inputs_are_answered_as_the_server_answered_them():
    """One of twenty further inputs, and all inputs that were once answered otherwise."""
    cases = [json.loads(line) for line in gzip.decompress(FURTHER.read_bytes()).splitlines()]
    chosen = [c for i, c in enumerate(cases) if i % 20 == 0 or c["name"].startswith(ONCE_WRONG)]

    assert len(chosen) > 150
    judged = [judge_input("playground", case) for case in chosen]
    assert [(one.name, one.expected, one.got) for one in judged if not one.agrees] == []


def test_inputs_with_last_applied_of_others_are_answered_as_the_server_answered_them():
    cases = [json.loads(line) for line in gzip.decompress(OWNERS.read_bytes()).splitlines()]

    assert len(cases) > 30
    judged = [judge_input("playground", case) for case in cases]
    assert [(one.name, one.expected, one.got) for one in judged if not one.agrees] == []


def test_cause_after_the_lines_of_our_own_struct_counts():
    own = "not valid: spec: Forbidden: fixed\n@@ -5,9 +5,7 @@\n  1,\n-  2\n; volumeMode: Invalid value: 1: fixed"

    assert split_causes(own) == ["spec: Forbidden: fixed", "volumeMode: Invalid value: 1: fixed"]
