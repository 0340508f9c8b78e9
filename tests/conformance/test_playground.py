"""How the judge of the playground reads what kubectl prints of a refusal, and a sample of what rules refuse."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from applyviz.conformance.exceptions import EXCEPTIONS
from applyviz.conformance.playground import judge_input, read_causes

RULES = Path(__file__).parent / "wide" / "playground-rules.jsonl.gz"


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


def load_sample():
    """What people may hardly notice, and of the other inputs one of each dozen."""
    lines = gzip.decompress(RULES.read_bytes()).splitlines()
    cases = [json.loads(line) for line in lines]
    left_out = [name for one in EXCEPTIONS if "playground" in one.families for name in one.names]
    always = ("spec.resources-", "spec.securitycontext-", "spec.devices.requests-", "pod-whole")
    chosen = [case for i, case in enumerate(cases) if i % 12 == 0 or any(word in case["name"] for word in always)]
    return [case for case in chosen if not case["name"].startswith(tuple(left_out))]


def test_sampled_rules_are_told_as_the_server_told_them():
    cases = load_sample()
    judged = [judge_input("playground", case) for case in cases]

    assert len(cases) > 100
    assert [(one.name, one.expected, one.got) for one in judged if not one.agrees] == []
